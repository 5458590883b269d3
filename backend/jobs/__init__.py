"""Jobs, their attempts, processes and events. `service` serves the requests of users; `lifecycle` and `states` hold the state
machine."""
