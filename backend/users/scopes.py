"""The scope of an API token: which operations of the API it may use. The only place that decides this."""

from __future__ import annotations

from typing import Any

from gradstream.api.platform import TokenScope
from gradstream.errors import OutOfScope

SAFE_METHODS = frozenset({"GET", "HEAD"})
CHANGE_NOTHING = frozenset({"planJob", "validateJob"})
"""Operations that use POST for their body, but only answer. A new one needs the scope full until it is named here."""


def check_scope(scope: TokenScope, method: str, operation: str | None) -> None:
    """Raises: OutOfScope, unless a token of this scope may use the operation."""
    if scope == TokenScope.FULL or is_read(method, operation):
        return
    raise OutOfScope(
        f"This token has the scope '{scope}', which does not allow {operation or method}. Use one with the scope "
        f"'{TokenScope.FULL}': `gradstream token create --scope {TokenScope.FULL}` makes it, as does Settings on the page.",
        scope=scope,
        needs=TokenScope.FULL,
    )


def is_read(method: str, operation: str | None) -> bool:
    return method.upper() in SAFE_METHODS or operation in CHANGE_NOTHING


def describe(document: dict[str, Any]) -> None:
    """Add the refusal to the OpenAPI document, on every operation of users that needs the scope full."""
    for methods in document["paths"].values():
        for method, operation in methods.items():
            for_users = any("token" in way for way in operation.get("security", []))
            if for_users and not is_read(method, operation["operationId"]):
                content = operation["responses"]["401"]["content"]
                operation["responses"]["403"] = {"description": "The token's scope is 'read'", "content": content}
