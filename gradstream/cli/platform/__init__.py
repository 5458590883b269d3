"""Commands on the platform of this machine: start it, open its page, stop it, clean it up."""
