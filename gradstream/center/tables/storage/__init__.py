"""Tables on their way into files and back: all rows, what changed since an earlier copy, the trained rows that a job leaves."""
