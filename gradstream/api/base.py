"""The base of all responses of the API, and types of their members."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import definitions_schema

LARGEST_PAGE: Final = 500
"""Items that one page of a list holds at most."""
V = TypeVar("V", bound=str)


def _as_sent(schema: dict[str, Any]) -> None:
    """The document says what this version sends; a reader accepts more."""
    schema["additionalProperties"] = False


class ApiModel(BaseModel):
    """Members that a newer platform adds are kept and printed, but have no attribute here."""

    model_config = ConfigDict(frozen=True, extra="allow", from_attributes=True, json_schema_extra=_as_sent)

    def as_dict(self) -> dict[str, Any]:
        """As the API sends it."""
        return self.model_dump(mode="json", by_alias=True)


def _described(schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
    return handler(definitions_schema(schema, []))  # `handler` itself would not refer to a class by its name, but repeat it


class _KnownValues:
    """Describes the values of this version alone."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return _described(schema["choices"][0], handler)


Known = Annotated[V | str, Field(union_mode="left_to_right"), _KnownValues()]
"""An enum or a `Literal`. A value that only a newer platform knows stays a string."""


class DescribedAs:
    """Describes a member by another type than the one that reads it."""

    def __init__(self, type_: Any) -> None:
        self._type = type_

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return _described(TypeAdapter(self._type).core_schema, handler)
