"""Saved views of the page: those that a user keeps, and those that others share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from gradstream.api.views import ChartLayout, PageQuery, SavedView, ViewPlace
from gradstream.client.connection import ApiConnection


class SavedViewing(ApiConnection):
    """The methods of `Client` for saved views."""

    def views(self, place: ViewPlace | str) -> list[SavedView]:
        """Return your own views of a page by name, then those that others share."""
        found: dict[str, Any] = self._transport.json("GET", "views", params={"place": ViewPlace(place)})
        return [SavedView.model_validate(item) for item in found["items"]]

    def view(self, id: UUID | str) -> SavedView:
        """Return one of your own views, or a shared one. Raises: NotFound."""
        return SavedView.model_validate(self._transport.json("GET", f"views/{id}"))

    def save_view(
        self, place: ViewPlace | str, name: str, state: PageQuery | ChartLayout | dict[str, Any], *, shared: bool = False
    ) -> SavedView:
        """Save a view. It replaces your own of this place and name. `shared`: every user who is signed in may read it."""
        plain = state if isinstance(state, dict) else state.as_dict()
        body = {"place": ViewPlace(place), "name": name, "shared": shared, "state": plain}
        return SavedView.model_validate(self._transport.json("PUT", "views", json=body))

    def delete_view(self, id: UUID | str) -> None:
        """Delete one of your own views. Raises: NotFound. Denied: another user owns it."""
        self._transport.json("DELETE", f"views/{id}")
