"""The commit that code is submitted from, and in what the code differs from it."""
