"""Progress of a job, folded from its metrics as they arrive and kept in its row. Pure: no database here."""
