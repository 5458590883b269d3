"""The alert of tables that leave little memory: it comes, goes, and names server and remedy."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from backend.progress.alert_rules import new_alerts, resolved_alerts
from backend.progress.folding import fold
from backend.progress.state import Folded
from backend.progress.summary import shown
from gradstream import metrics
from gradstream.gate import Gate
from gradstream.local.training.alerts import RunAlerts
from gradstream.metrics import Point

NOW = datetime.now(UTC)


def told(state: dict[str, Any], left: float, source: str = "server-1.0", attempt: int = 1) -> dict[str, Any]:
    values = {metrics.TABLE_BYTES.name: 12e9, metrics.TABLE_MEMORY_LEFT.name: left}
    points = [Point(name, -1, 1, 10, 1, NOW.timestamp(), value) for name, value in values.items()]
    return fold(state, attempt, [(source, points)], NOW)


def test_gradstream_train_tells_the_same() -> None:
    points = [
        Point(metrics.TABLE_BYTES.name, -1, 1, 10, 1, 0.0, 5e9),
        Point(metrics.TABLE_MEMORY_LEFT.name, -1, 1, 10, 1, 0.0, 0.04),
    ]
    run, batches = RunAlerts(Gate(mode="bsp")), [("server-0.0", points)]
    run.take(batches, 1)
    assert run.sentences == alerts(fold({}, 1, batches, NOW))
    assert len(run.sentences) == 1


def alerts(state: dict[str, Any]) -> list[str]:
    return shown(state, Gate(mode="bsp")).alerts


def test_a_machine_that_is_nearly_full_raises_one_alert_and_one_event() -> None:
    roomy = told({}, 0.12)
    assert alerts(roomy) == []
    full = told(roomy, 0.09)
    [alert] = alerts(full)
    assert alert.startswith("The machine of server-1 has 9% of its memory left, and this server's tables take 12.0 GB.")
    assert "`most` or `keep`" in alert
    assert "roles.server.count" in alert
    [event] = new_alerts(roomy, full, lambda: Gate(mode="bsp"))
    assert (event.actor, event.data) == ("server-1", {"memory_left": 0.09})
    still = told(full, 0.12)
    assert len(alerts(still)) == 1, "it does not come and go around its limit"
    assert list(new_alerts(full, still, lambda: Gate(mode="bsp"))) == []
    assert alerts(told(still, 0.16)) == []
    ends = [list(resolved_alerts(*pair)) for pair in ((full, still), (still, told(still, 0.16)))]
    assert ends == [[], ["The machine of server-1 has at least 15% of its memory left again."]]


def test_each_server_has_its_own_and_an_attempt_begins_anew() -> None:
    both = told(told({}, 0.05), 0.01, "server-0.0")
    assert [alert.split()[3] for alert in alerts(both)] == ["server-0", "server-1"]
    assert alerts(told(both, 0.5, attempt=2)) == []
    assert Folded.model_validate(told({}, 0.5)).tables.full == {}
