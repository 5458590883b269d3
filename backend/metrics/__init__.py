"""Every measured point: from the data plane into Postgres, and out again as series and files."""
