"""The experiments, in the order of the report: each may use results of those before it."""

from benchmarks.report.experiments import elastic, momentum, rates, scaling, stability, staleness, straggler, strategies, traffic

EXPERIMENTS = [
    module.EXPERIMENT for module in (rates, strategies, scaling, elastic, staleness, stability, momentum, traffic, straggler)
]
