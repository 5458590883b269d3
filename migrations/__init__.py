"""The tables' history (Alembic). Expand first, contract in a later release, so that old and new programs may run together."""
