"""Saved views of pages: which jobs and columns, which comparison, and how charts are laid out."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from gradstream.api.base import ApiModel, Known
from gradstream.spec.values import storable

LARGEST_QUERY = 8000
"""Characters of a page's address behind the question mark: as long as common proxies pass on."""
MOST_CHARTS = 500
"""Metrics that a layout orders, and metrics that it hides."""

MetricName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(storable)]


class ViewPlace(StrEnum):
    """The page that a view belongs to."""

    JOBS = "jobs"
    METRICS = "job-metrics"
    COMPARE = "compare"


class ChartLayout(ApiModel):
    """The arrangement of the charts of every job. A metric that it does not name has its usual place."""

    columns: int | None = Field(
        None, ge=1, le=4, description="Charts beside each other; null: as many as the window's width allows"
    )
    height: int = Field(170, ge=100, le=800, description="Height of each plot in CSS pixels")
    order: list[MetricName] = Field(
        default_factory=list, max_length=MOST_CHARTS, description="Metrics in the order of their charts"
    )
    hidden: list[MetricName] = Field(default_factory=list, max_length=MOST_CHARTS, description="Metrics whose charts are hidden")


class PageQuery(ApiModel):
    """The state of a page as its address has it: filters, order, columns, selected jobs, axes."""

    query: str = Field(
        max_length=LARGEST_QUERY,
        pattern=r"^[A-Za-z0-9._~%!$&'()*+,;=:@/?-]*$",
        description="The address behind its question mark, percent-encoded",
        examples=["status=running&sort=-loss"],
    )


class SavedView(ApiModel):
    """A view with a name. Its owner alone changes it; a shared one is read by every user who is signed in."""

    id: UUID
    place: Known[ViewPlace]
    name: str = Field(examples=["nightly runs"])
    owner: str = Field(examples=["ada"])
    mine: bool = Field(description="The caller owns it")
    shared: bool
    state: PageQuery | ChartLayout = Field(
        union_mode="left_to_right", description="A `ChartLayout` for `job-metrics`, else a `PageQuery`"
    )
    created_at: datetime
    updated_at: datetime


class SavedViews(ApiModel):
    items: list[SavedView] = Field(description="The caller's own by name, then those that others share")
