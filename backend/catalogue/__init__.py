"""The parts of a job: strategies, the schema of the job file, examples."""
