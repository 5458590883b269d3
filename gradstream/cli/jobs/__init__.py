"""Commands about submitted jobs: list them, show and follow one, change it, stop it, delete it."""
