"""Compute what is missing, then write the document: `python -m benchmarks.report --mnist PATH`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from benchmarks.report import document, mnist
from benchmarks.report.experiments import EXPERIMENTS
from benchmarks.report.experiments.base import FULL, QUICK, Experiment, Scale
from benchmarks.report.lab import Lab, Missing, Run, compute

FOLDER = Path("docs/report")
QUICK_FOLDER = Path("build/report")
SAMPLED = 2
"""Results of each experiment that `--check` computes anew."""


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    scale, folder = (QUICK, args.out or QUICK_FOLDER) if args.quick else (FULL, args.out or FOLDER)
    lab = Lab(folder / "results")
    chosen = [experiment for experiment in EXPERIMENTS if not args.only or experiment.name in args.only]
    try:
        if args.check:
            return check(chosen, scale, lab, args.mnist, args.processes)
        fill(chosen, scale, lab, args.mnist, args.processes, folder)
    except mnist.DataMissing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; what was computed is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    if not any(blocked(experiment, scale, lab) for experiment in EXPERIMENTS):
        lab.prune(run for experiment in EXPERIMENTS for run in experiment.runs(scale, lab))
    left = document.build(EXPERIMENTS, scale, lab, folder)
    print(f"wrote {folder / 'README.md'}" + (f"; not computed yet: {', '.join(left)}" if left else ""))
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    made.add_argument("--mnist", metavar="PATH", default="", help=mnist.HELP)
    made.add_argument("--only", nargs="+", choices=[e.name for e in EXPERIMENTS], metavar="NAME", help="these experiments alone")
    made.add_argument("--processes", type=int, default=2, help="runs at a time, one thread each")
    made.add_argument("--quick", action="store_true", help=f"tiny runs that show nothing, into {QUICK_FOLDER}: does it work?")
    made.add_argument("--check", action="store_true", help="compute some of the stored results anew and compare")
    made.add_argument("--out", type=Path, metavar="FOLDER", help=f"default: {FOLDER}")
    return made


def fill(chosen: list[Experiment], scale: Scale, lab: Lab, data: str, processes: int, folder: Path) -> None:
    """First what others depend on, then all the rest at once."""
    first = EXPERIMENTS[0]
    if first in chosen or any(blocked(experiment, scale, lab) for experiment in chosen):
        work(assigned([first], scale, lab), lab, data, processes, folder)
    work(assigned(chosen, scale, lab), lab, data, processes, folder)


def blocked(experiment: Experiment, scale: Scale, lab: Lab) -> bool:
    """It needs results before it knows its runs."""
    try:
        experiment.runs(scale, lab)
    except Missing:
        return True
    return False


def assigned(chosen: Iterable[Experiment], scale: Scale, lab: Lab) -> dict[Run, str]:
    """Runs without a result, each with the experiment that asked for it first."""
    found: dict[Run, str] = {}
    for experiment in chosen:
        for run in experiment.runs(scale, lab):
            if run not in lab:
                found.setdefault(run, experiment.name)
    return found


def work(runs: dict[Run, str], lab: Lab, data: str, processes: int, folder: Path) -> None:
    if any(run.kind == "train" for run in runs):
        data = mnist.find(data)
    with closing(compute(list(runs), data, processes)) as results:
        for count, (run, result, seconds) in enumerate(results, 1):
            if count == 1:
                document.note_machine(folder)
            lab.keep(runs[run], run, result, seconds)
            print(f"[{count}/{len(runs)}] {runs[run]}: {run.said} ({seconds:.1f} s)", flush=True)


def check(chosen: list[Experiment], scale: Scale, lab: Lab, data: str, processes: int) -> int:
    """The cheapest results of each experiment, computed anew."""
    sample: set[Run] = set()
    for experiment in chosen:
        stored = sorted((run for run in experiment.runs(scale, lab) if run in lab), key=lab.cost)
        sample |= set(stored[:SAMPLED])
    if any(run.kind == "train" for run in sample):
        data = mnist.find(data)
    different = 0
    with closing(compute(sorted(sample, key=lab.cost), data, processes)) as results:
        for run, result, _ in results:
            same = result == lab[run]
            different += not same
            print(f"{'same     ' if same else 'different'} {run.said}", flush=True)
    print(f"{len(sample) - different} of {len(sample)} results are the same again")
    return 1 if different or not sample else 0


if __name__ == "__main__":
    sys.exit(main())
