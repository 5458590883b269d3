"""The processes of a worker that is a group: their reports, their ends, and those on other machines."""
