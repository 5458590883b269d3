"""Lists that come page by page."""

from __future__ import annotations

from typing import Final

LARGEST_PAGE: Final = 500
"""Items that one response holds at most."""
