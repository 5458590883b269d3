"""The metric of workers that all others wait for."""

from gradstream.metrics.definition import define_metric

AWAITED = define_metric(
    "worker/awaited",
    "Awaited",
    "s",
    "Seconds for which all other workers of a job without servers have waited for one, if that is unusually long; 0: it goes on",
    "lower",
)
