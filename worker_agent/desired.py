"""The desired set as the agent reads it: tolerant of what another version of the control plane adds, strict about what it asks for.

Members that this version does not know are left out. Only the job file in an order is different: a member there changes how the
job trains, so the order is refused, unless the member asks for nothing (null, false or empty).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pydantic import ValidationError

import gradstream
from gradstream.errors import Unavailable
from gradstream.process.order import ProcessOrder
from worker_agent.settings import AgentSettings

_SHORTEST, _LONGEST = 0.01, 3600.0


@dataclass(frozen=True, slots=True)
class Desired:
    orders: list[ProcessOrder]
    heartbeat_every: float
    """Seconds."""
    rotate: bool = False
    """A user has asked for another credential."""
    refused: dict[UUID, str] = field(default_factory=dict)
    """Why an order cannot be carried out here, by the id of its process."""


class _Unknown(ValueError):
    """The order asks for something that this version cannot do."""


def read_desired(message: Any) -> Desired:
    """Raises: Unavailable: it is no desired set at all."""
    try:
        told, every, rotate = list(message["desired"]), read_interval(message["heartbeat_every"]), message.get("rotate") is True
        by_id = {UUID(order["id"]): order for order in told}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise Unavailable(f"the API answered a heartbeat with something other than a desired set ({error!r})") from error
    orders, refused = list[ProcessOrder](), dict[UUID, str]()
    for id, order in by_id.items():
        try:
            orders.append(_read_order(order))
        except (ValidationError, _Unknown) as error:
            refused[id] = _sentence(error)
    return Desired(orders, every, rotate, refused)


def reached_here(order: ProcessOrder, settings: AgentSettings) -> ProcessOrder:
    """Return the order with the addresses that this machine has for the data plane and the API, where they are others."""
    plane, store = settings.plane_redis_url, settings.process_api_url
    return order.model_copy(
        update={
            "plane": order.plane.model_copy(update={"url": plane or order.plane.url}),
            "store": order.store.model_copy(update={"url": store or order.store.url}),
        }
    )


def read_interval(told: Any) -> float:
    """Seconds between heartbeats. Raises: ValueError, TypeError: with these the agent would fall silent, or never rest."""
    try:
        every = float(told)
    except OverflowError as error:  # a whole number of hundreds of digits
        raise ValueError(str(error)) from error
    if not _SHORTEST <= every <= _LONGEST:
        raise ValueError(f"a heartbeat every {every:g} s; {_SHORTEST:g} to {_LONGEST:g} s are possible")
    return every


def _read_order(told: dict[str, Any]) -> ProcessOrder:
    try:
        return ProcessOrder.model_validate(told)
    except ValidationError as error:
        unknown = [problem["loc"] for problem in error.errors() if problem["type"] == "extra_forbidden"]
        if not unknown:
            raise
        for place in unknown:
            _leave_out(told, place)
        return ProcessOrder.model_validate(told)


def _leave_out(told: dict[str, Any], place: Sequence[int | str]) -> None:
    """Remove the member at this place, which pydantic names with the choices of unions in between. Raises: _Unknown."""
    *path, name = place
    part: Any = told
    for step in path:
        if isinstance(part, dict):
            part = part.get(step, part)
        elif isinstance(part, list) and isinstance(step, int):
            part = part[step]
    if part[name] not in (None, False, "", [], {}):
        raise _Unknown(f"'{name}' in {'.'.join(map(str, path))}")
    del part[name]


def _sentence(error: ValidationError | _Unknown) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        error = _Unknown(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return (
        f"its node runs Gradstream {gradstream.__version__}, which cannot carry out this order ({error}); bring the node and the "
        "control plane to the same version"
    )
