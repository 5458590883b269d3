"""The command line, a module for each command, in folders by subject. `main` lists them and imports none before it is used."""
