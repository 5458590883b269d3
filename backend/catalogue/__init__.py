"""What a job can be made of: strategies, the schema of the job file, examples."""
