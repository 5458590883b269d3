"""Everything that can be asked of a platform."""

from __future__ import annotations

from gradstream.client.methods.code import CodeReading
from gradstream.client.methods.control import Control
from gradstream.client.methods.exports import Exports
from gradstream.client.methods.media import MediaReading
from gradstream.client.methods.reading import Reading
from gradstream.client.methods.submission import Submission
from gradstream.client.methods.tables import TableReading
from gradstream.client.methods.updates import UpdatesReading
from gradstream.client.methods.views import SavedViewing


class Client(Submission, Control, Exports, TableReading, CodeReading, MediaReading, UpdatesReading, SavedViewing, Reading):
    """All methods raise `gradstream.errors`: NotSignedIn, NotFound, Conflict, Invalid with its problems, and Unavailable once
    a server has not answered for `timeout` seconds. Requests that are safe to repeat are repeated until then."""
