"""Jobs, their attempts, processes and events. What users ask is in `service`; a job's life is in `lifecycle` and `states`."""
