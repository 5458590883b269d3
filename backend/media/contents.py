"""Contents of media, checked as they come: user code shares the token of its process, so nothing is trusted."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, ValidationError, model_validator

from backend.db import storable
from gradstream.errors import Invalid
from gradstream.user_logging.items import MAX_BINS, MAX_COLUMNS, MAX_ITEM_BYTES, MAX_ROWS
from gradstream.user_logging.names import check_name
from gradstream.user_logging.png import png_size
from gradstream.user_logging.posted import Count, PostedItem

Finite = Annotated[float, Field(allow_inf_nan=False)]
Cell = str | Annotated[bool, Field(strict=True)] | int | Finite | None


class HistogramContent(BaseModel):
    edges: list[Finite] = Field(max_length=MAX_BINS + 1)
    counts: list[Count] = Field(max_length=MAX_BINS)
    nan: Count = 0
    inf: Count = 0

    @model_validator(mode="after")
    def _fits(self) -> HistogramContent:
        if len(self.edges) != (len(self.counts) + 1 if self.counts else 0) or sorted(self.edges) != self.edges:
            raise ValueError("edges must rise, and be one more than counts")
        return self


class TableContent(BaseModel):
    columns: list[str] = Field(min_length=1, max_length=MAX_COLUMNS)
    rows: list[list[Cell]] = Field(max_length=MAX_ROWS)

    @model_validator(mode="after")
    def _is_a_rectangle(self) -> TableContent:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("each row must have a cell for each column")
        return self


def check_item(item: PostedItem) -> tuple[int, int] | None:
    """Return width and height of an image or a figure; None: another kind. Raises: Invalid."""
    check_name(item.name)
    most = MAX_ITEM_BYTES[item.kind]
    if len(item.content) > most:
        raise Invalid(f"'{item.name}' has {len(item.content):,} bytes, and {most:,} are allowed for a {item.kind}.")
    if item.kind in ("image", "figure"):
        if (size := png_size(item.content)) is None:
            raise Invalid(f"'{item.name}' is no PNG file.")
        return size
    try:
        text = item.content.decode()
        if item.kind == "text" and storable(text) != text:
            raise ValueError("the text has characters that cannot be stored")
        if item.kind == "histogram":
            HistogramContent.model_validate_json(text)
        if item.kind == "table":
            TableContent.model_validate_json(text)
    except (UnicodeDecodeError, ValueError, ValidationError) as error:
        raise Invalid(f"The content of '{item.name}' is no {item.kind}. Leave it as the platform writes it.") from error
    return None
