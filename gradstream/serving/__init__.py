"""The model and the embedding tables of a job, read from a folder of exports: `pip install 'gradstream[train]'`, no platform.

    from gradstream.serving import Tables

    tables = Tables("clicks-exports")            # kept up to date by `gradstream exports clicks --follow clicks-exports`
    tables.look_up("user", ids)                  # a float32 tensor, shape (*ids.shape, width)
    tables.follow()                              # take newer exports, if there are any

Importing this imports torch and numba.
"""

from gradstream.serving.export import ExportSnapshot
from gradstream.serving.tables import Tables

__all__ = ["ExportSnapshot", "Tables"]
