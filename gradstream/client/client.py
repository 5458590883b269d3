"""Everything that can be asked of a platform."""

from __future__ import annotations

from gradstream.client.code import CodeReading
from gradstream.client.control import Control
from gradstream.client.exports import Exports
from gradstream.client.media import MediaReading
from gradstream.client.reading import Reading
from gradstream.client.submission import Submission
from gradstream.client.tables import TableReading
from gradstream.client.views import SavedViewing


class Client(Submission, Control, Exports, TableReading, CodeReading, MediaReading, SavedViewing, Reading):
    """All methods raise `gradstream.errors`: NotSignedIn, NotFound, Conflict, Invalid with its problems, and Unavailable once
    a server has not answered for `timeout` seconds. Requests that are safe to repeat are repeated until then."""
