"""The stops of a gradient, as drawn in its reference, are functions, each with a name that a search finds once."""

from __future__ import annotations

import re

import pytest

from tests.unit.docs.test_references import ROOT, names

PAGE = (ROOT / "docs/reference/gradient.md").read_text()
DRAWN = re.findall(r'\["(r?)(\d+) (\w+\.\w+)"\]', PAGE)
BETWEEN_HOSTS = re.findall(r"`(\w+\.\w+)`", PAGE.partition("Between hosts")[2].partition("The table")[0])
PROGRAMS = [path for package in ("gradstream", "ps_node", "worker_node") for path in (ROOT / package).rglob("*.py")]


def test_a_gradient_has_at_most_twelve_stops_on_one_host_and_fifteen_between_hosts() -> None:
    gradient = [int(number) for response, number, _ in DRAWN if not response]
    assert sorted(gradient) == list(range(1, len(gradient) + 1))
    assert len(gradient) <= 12
    assert len(BETWEEN_HOSTS) == 3
    assert len(gradient) + 2 <= 15, "without the stop of the response"


@pytest.mark.parametrize("stop", [stop for _, _, stop in DRAWN] + BETWEEN_HOSTS)
def test_a_stop_is_defined_once(stop: str) -> None:
    assert len([path for path in PROGRAMS if stop in names(path)]) == 1, f"{stop} of docs/reference/gradient.md"
