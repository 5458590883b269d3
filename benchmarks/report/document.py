"""docs/report/README.md: findings, figures and tables, each with the command that makes it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.report import plots
from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table
from benchmarks.report.lab import Lab, Missing, Values, write

COMMAND = "python -m benchmarks.report --mnist PATH"
INTRODUCTION = """\
# The papers' findings, repeated in small

Made by `make report MNIST=PATH`, PATH being a folder with the four MNIST files. Everything here is computed by the strategies,
the shard machine and the workers of the platform in the simulator, in virtual time, with the perceptron 784-1000-200-10 on MNIST
or on formulas. Each experiment has a command that makes it alone; results that are in `results/` are not computed again.
Every verdict is decided from the numbers by a check in `benchmarks/report/experiments/`. Some checks, and the rule that picks the
learning rates, were worded again when first results were known, so the numbers stand beside each verdict for readers who would
set other bounds. Each run has one seed: differences of accuracy below half a point mean nothing.
"""


def build(experiments: Sequence[Experiment], scale: Scale, lab: Lab, folder: Path) -> list[str]:
    """Draw what can be drawn and write the document. Returns the names of experiments whose results are not complete."""
    sections, summary, missing = [], [], []
    for experiment in experiments:
        try:
            findings = experiment.findings(scale, lab)
            tables = experiment.tables(scale, lab)
            for name, draw in experiment.figures.items():
                plots.save(draw(scale, lab), folder / f"{name}.png")
        except Missing:
            missing.append(experiment.name)
            sections.append(f"## {experiment.title}\n\nNot computed yet: `{COMMAND} --only {experiment.name}`.\n")
            continue
        summary += [(experiment, finding) for finding in findings]
        sections.append(section(experiment, findings, tables))
    parts = [INTRODUCTION, made(folder, lab), overview(summary), *sections]
    write(folder / "README.md", "\n".join(parts))
    return missing


def overview(found: Sequence[tuple[Experiment, Finding]]) -> str:
    count = sum(finding.repeats for _, finding in found)
    rows = [[f"[{e.title}](#{anchor(e.title)})", finding.claim, verdict(finding)] for e, finding in found]
    lines = [f"## Findings: {count} of {len(found)} repeat", "", *markdown(Table(["experiment", "finding", ""], rows)), ""]
    return "\n".join(lines)


def section(experiment: Experiment, findings: Sequence[Finding], tables: Sequence[Table]) -> str:
    lines = [f"## {experiment.title}", "", experiment.setting, "", f"    {COMMAND} --only {experiment.name}", ""]
    for name in experiment.figures:
        lines += [f"![{experiment.title}: {name}]({name}.png)", ""]
    for finding in findings:
        lines.append(f"- **{verdict(finding)}**: {finding.claim} ({finding.source}). Measured: {finding.measured}.")
        if finding.why and not finding.repeats:
            lines.append(f"  Why: {finding.why}")
    if findings:
        lines.append("")
    if experiment.note:
        lines += [experiment.note, ""]
    for table in tables:
        lines += [*markdown(table), ""]
    return "\n".join(lines)


def verdict(finding: Finding) -> str:
    return "repeats" if finding.repeats else "does not repeat"


def markdown(table: Table) -> list[str]:
    rows = [table.header, ["---"] * len(table.header), *table.rows]
    return ["| " + " | ".join(row) + " |" for row in rows]


def anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in "-_ ")
    return kept.replace(" ", "-")


# ---- what it was made with ------------------------------------------------------------------------------------------------


def note_machine(folder: Path) -> None:
    """Write down what computed the newest result."""
    packages = ("torch", "numpy", "matplotlib", "gradstream")
    about: Values = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "versions": {"Python": platform.python_version(), **{name: importlib.metadata.version(name) for name in packages}},
        "machine": f"{os.cpu_count()} cores, {platform.machine()} with {torch.backends.cpu.get_cpu_capability()}",
    }
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "about.json", json.dumps(about, indent=1) + "\n")


def made(folder: Path, lab: Lab) -> str:
    path = folder / "about.json"
    if not path.exists():
        return ""
    about = json.loads(path.read_text())
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"Computed until {about['date']} on a machine with {about['machine']}; {versions}. CPU time of all runs: "
        f"{lab.seconds / 60:.0f} minutes, one thread each. The same machine gives the same numbers again (`{COMMAND} --check` "
        "computes some of them anew and compares); another kind of processor adds in another order, which training magnifies.\n"
    )
