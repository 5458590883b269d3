"""Every measured point: from the gradient plane into Postgres, and out again as series and files."""
