from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from backend.schemas import Schema
from gradstream.api.views import ChartLayout, PageQuery, ViewPlace
from gradstream.spec.values import storable

ViewName = Annotated[str, Field(pattern=r"^\S(.{0,58}\S)?$", examples=["nightly runs"]), AfterValidator(storable)]
"""1 to 60 characters in one line, with no space at its ends."""


class NewChartLayout(ChartLayout, extra="forbid"):
    """A layout of charts to save."""


class NewPageQuery(PageQuery, extra="forbid"):
    """A state of a page to save."""


class SaveLayout(Schema):
    """A layout of the charts on the tab Metrics. The page opens with the layout that is called `default`."""

    place: Literal[ViewPlace.METRICS]
    name: ViewName
    shared: bool = Field(False, description="Every user who is signed in may read it")
    state: NewChartLayout


class SaveQuery(Schema):
    """A view of the list of jobs, or a comparison."""

    place: Literal[ViewPlace.JOBS, ViewPlace.COMPARE]
    name: ViewName
    shared: bool = Field(False, description="Every user who is signed in may read it")
    state: NewPageQuery


SaveView = Annotated[SaveLayout | SaveQuery, Field(discriminator="place")]
