"""Words that a shell offers after Tab. Each function gets what is typed so far and returns words that begin so.

They ask the platform for at most a second, and offer nothing when it does not answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

_TIMEOUT = 1.0
Offered = list[tuple[str, str]]
"""Words, each with a line of help."""


def complete_job(incomplete: str) -> Offered:
    """Names and ids of the newest 200 jobs; a name once, with its newest job."""
    offered: dict[str, str] = {}
    for job in _ask("jobs", limit=200):
        about = f"{job['status']}, {job['strategy']}"
        offered.setdefault(job["name"], about)
        offered[job["id"]] = f"{job['name']}, {about}"
    names_first = sorted(offered.items(), key=lambda item: len(item[0]) == 36)
    return _beginning(names_first if incomplete else [item for item in names_first if len(item[0]) != 36], incomplete)


def complete_node(incomplete: str) -> Offered:
    return _beginning([(node["name"], node["status"]) for node in _ask("nodes")], incomplete)


def complete_status(incomplete: str) -> Offered:
    words = ("queued", "starting", "running", "stopping", "succeeded", "failed", "cancelled", "timed_out")
    return _beginning([(word, "") for word in words], incomplete)


def complete_strategy(incomplete: str) -> Offered:
    from gradstream.strategies import STRATEGIES

    return _beginning([(name, cls.summary()) for name, cls in STRATEGIES.items()], incomplete)


def complete_override(incomplete: str) -> Offered:
    """Keys of a job file, as `--set` takes them, and the names of strategies, codecs and gates behind theirs."""
    key, equals, _ = incomplete.partition("=")
    keys = dict(_keys())
    if equals:
        return _beginning([(f"{key}={word}", "") for word in _choices(key)], incomplete)
    return _beginning([(f"{name}=", help) for name, help in keys.items()], incomplete)


def _keys() -> Iterable[tuple[str, str]]:
    from gradstream.spec import JobSpec

    def visit(model: Any, before: str) -> Iterable[tuple[str, str]]:
        for name, field in model.model_fields.items():
            inner = _models(field.annotation)
            if not inner:
                yield f"{before}{name}", field.description or ""
            for one in inner:
                yield from visit(one, f"{before}{name}.")

    return visit(JobSpec, "")


def _models(annotation: Any) -> list[Any]:
    """The models in an annotation, through Annotated, Optional and unions."""
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models(inner)]


def _choices(key: str) -> list[str]:
    """Values that a key may have, where they are a few words."""
    from gradstream.spec import JobSpec

    models: list[Any] = [JobSpec]
    annotations: list[Any] = []
    for part in key.split("."):
        annotations = [model.model_fields[part].annotation for model in models if part in model.model_fields]
        models = [inner for annotation in annotations for inner in _models(annotation)]
    return sorted({str(word) for annotation in annotations for word in _literals(annotation)})


def _literals(annotation: Any) -> list[Any]:
    from typing import Literal, get_origin

    if get_origin(annotation) is Literal:
        return [word for word in get_args(annotation) if isinstance(word, str)]
    return [word for inner in get_args(annotation) for word in _literals(inner)]


def _ask(path: str, **params: Any) -> list[dict[str, Any]]:
    """The items of a list of the API; none if it cannot be had in time."""
    import httpx

    from gradstream.client.credentials import Credentials
    from gradstream.errors import GradstreamError
    from gradstream.tls import choose_verify

    try:
        known = Credentials.find()
        headers = {"Authorization": f"Bearer {known.token}"}
        url = f"{known.url}/api/v1/{path}"
        response = httpx.get(url, params=params, headers=headers, timeout=_TIMEOUT, verify=choose_verify(url))
        return list(response.raise_for_status().json()["items"])
    except (GradstreamError, httpx.HTTPError, ValueError, KeyError):
        return []  # a shell that completes has no place for a message


def _beginning(offered: Iterable[tuple[str, str]], incomplete: str) -> Offered:
    return [(word, help) for word, help in offered if word.startswith(incomplete)]
