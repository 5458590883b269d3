"""Output of commands: data on stdout, talk on stderr, tables, control characters made visible."""
