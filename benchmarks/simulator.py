"""What an event of the simulator costs as the number of workers grows: `python -m benchmarks.simulator`.

Prints, for each number of workers, microseconds of CPU per event and the ratio to the smallest number. Flat means that
a simulation of 1,000 workers costs as much per push as one of 10."""

from __future__ import annotations

import argparse
import json
import statistics
import time

from gradstream import sim
from gradstream.sim.toys import Toy, job

BSP = ("bsp", {"mode": "bsp", "cohort": 0.1})
GATES = {"asp": "asp", "ssp(3)": {"ssp": 3}, "bsp": BSP[0], "bsp, a tenth": BSP[1]}


def cost(workers: int, events: int, gate: object) -> float:
    """CPU seconds per event, without what a cluster costs to set up."""
    strategy = "sync" if gate in BSP else "async"
    spec = job({"name": strategy, "lr": 1e-5}, workers=workers, gate=gate)

    def timed(count: int) -> float:
        began = time.process_time()
        sim.run(spec, Toy, events=count, costs=sim.Costs(speeds="lognormal:0.3", latency=0.01, bandwidth=1e6, apply=1e-5))
        return time.process_time() - began

    return (timed(2 * events) - timed(events)) / events


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--events", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3, help="the median counts")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    for name, gate in GATES.items():
        samples = {n: [] for n in args.workers}
        for _ in range(args.rounds):  # in turn, so that a drift of the machine hits all alike
            for n in args.workers:
                samples[n].append(cost(n, args.events, gate))
        medians = {n: statistics.median(found) for n, found in samples.items()}
        base = medians[args.workers[0]]
        for n, median in medians.items():
            rows.append({"gate": name, "workers": n, "us_per_event": round(median * 1e6, 1), "ratio": round(median / base, 2)})
    if args.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(f"{row['gate']:12} {row['workers']:6} workers  {row['us_per_event']:8.1f} us/event  {row['ratio']:5.2f} x")


if __name__ == "__main__":
    main()
