"""The sentences about logged values and media that are dropped."""

from __future__ import annotations

from gradstream.user_logging.names import MAX_NAMES


def sentence(label: str, *, ended: bool = False) -> str:
    """The first time for a process. `label`: `worker-0`, `evaluator`. `ended`: the job is over."""
    logs, are, log = ("logged", "were", "In the next run, log") if ended else ("logs", "are", "Log")
    return (
        f"{label} {logs} values under more than {MAX_NAMES} names; those under further names {are} dropped. The metric "
        f"worker/log_dropped counts them. {log} under fewer names: a name with a step in it is a new one at each step."
    )


def media_sentence(label: str, *, ended: bool = False) -> str:
    """The first time for a process. `label`, `ended`: as for `sentence`."""
    logs, are, log = ("logged", "were", "In the next run, log") if ended else ("logs", "are", "Log")
    return (
        f"{label} {logs} more media than the limits allow; those beyond {are} dropped. The metric worker/media_dropped counts "
        f"them, and the log of {label} names the limit. {log} images, tables and histograms less often, or smaller ones."
    )
