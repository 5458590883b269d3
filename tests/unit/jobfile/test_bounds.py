"""Every number of a job file has a bound, and what is too large, too long or too deep is refused in a sentence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from gradstream import jobfile
from gradstream.errors import InvalidJob
from gradstream.spec import JobSpec

JOB: dict[str, Any] = {"name": "a", "workload": {"entrypoint": "a:B"}, "strategy": {"name": "adag"}, "stop": {"steps": 1}}


def unbounded(schema: Any, place: str = "") -> Iterator[str]:
    if isinstance(schema, dict):
        number = schema.get("type") in ("integer", "number") and not {"const", "enum"} & schema.keys()
        if number and not {"maximum", "exclusiveMaximum"} & schema.keys():
            yield place
        for key, inner in schema.items():
            yield from unbounded(inner, f"{place}/{key}")
    elif isinstance(schema, list):
        for at, inner in enumerate(schema):
            yield from unbounded(inner, f"{place}/{at}")


def test_every_number_of_the_schema_has_a_bound() -> None:
    """Fields of new strategies and codecs take `Count` and `Number` of `gradstream.bounds`."""
    assert list(unbounded(JobSpec.model_json_schema())) == []


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("changes", "pointer", "said"),
    [
        ({"batch_size": 10**400}, "/batch_size", "must be at most 1e+09"),
        ({"stop": {"steps": 10**13}}, "/stop/steps", "must be at most 1e+12"),
        ({"stop": {"epochs": 1e300}}, "/stop/epochs", "must be at most 1e+12"),
        ({"strategy": {"name": "adag", "window": 2**54}}, "/strategy/window", "must be at most 1e+15"),
        ({"strategy": {"name": "adag", "lr": 1e31}}, "/strategy/lr", "must be at most 1e+30"),
        ({"retention": {"metrics": "99999999999d"}}, "/retention/metrics", "at most 100 years"),
        ({"timeout": 1e10}, "/timeout", "at most 100 years"),
        ({"checkpoint": {"every": "99999999999d"}}, "/checkpoint/every", "at most 100 years"),
        ({"checkpoint": {"every": f"{'9' * 5000} samples"}}, "/checkpoint/every", "at most 1e+15"),
        ({"schedule": {"name": "constant", "warmup": 10**16}}, "/schedule/warmup", "at most 1e+15"),
        ({"workload": {"entrypoint": f"{'a' * 9000}:B"}}, "/workload/entrypoint", "at most 200 characters"),
        ({"workload": {"entrypoint": "a:B", "args": {"x": nested(33)}}}, "/workload/args", "more than 32 deep"),
        ({"workload": {"entrypoint": "a:B", "args": {"x": 10**309}}}, "/workload/args", "write it as text"),
        ({"strategy": {"name": nested(200)}}, "", "more than 64 deep"),
        ({"strategy": {"name": nested(900)}}, "", "more than 64 deep"),
    ],
    ids=str,
)
def test_what_is_beyond_a_bound_is_refused_at_its_place(changes: dict[str, Any], pointer: str, said: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        jobfile.load({**JOB, **changes})
    assert [(one.pointer, said in one.message) for one in refused.value.problems] == [(pointer, True)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed: !!bool maybe", "'maybe' is no bool"),
        ("seed: !!int x", "'x' is no int"),
        (f"seed: {'1' * 9000}", "is no int"),
        (f"seed: 0x{'f' * 200_000}", "is no int"),
        ("a: [" + ",".join(f"&a{at} x" for at in range(24_000)) + "]", "more than 5,000 values"),
        ("a: &a x\nb: [" + ",".join(["*a"] * 60_000) + "]", "more than 5,000 values"),
        ("a: [" + "1," * 120_000 + "]", "more than 5,000 values"),
    ],
    ids=lambda text: text[:20],
)
def test_yaml_that_costs_seconds_or_is_not_what_its_tag_says(text: str, said: str) -> None:
    began = time.process_time()
    with pytest.raises(InvalidJob) as refused:
        jobfile.load(text)
    assert said in " ".join([str(refused.value), *(problem.message for problem in refused.value.problems)])
    assert time.process_time() - began < 6


def test_overrides_are_short() -> None:
    with pytest.raises(InvalidJob, match="overrides have more than"):
        jobfile.load(JOB, ["name=" + "a" * 1000] * 20)
