"""The command line, a module for each command. `main` lists them and imports none before it is used."""
