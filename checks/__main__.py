"""Print what breaks a rule as `file:line: rule: what to do`; the exit code is then 1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from checks import formatting, names, prose, sizes
from checks.texts import Text, of_document, of_module

PRODUCT = ("gradstream/", "backend/", "ps_node/", "worker_node/", "worker_agent/", "checks/")
GENERATED = ("docs/report/", "docs/guides/job-file.md")


def main() -> int:
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], text=True, capture_output=True, check=True
    ).stdout.splitlines()
    files = [file for file in files if Path(file).exists()]
    python = {file: Path(file).read_text() for file in files if file.endswith(".py")}
    modules = {file: source for file, source in python.items() if file.startswith(PRODUCT)}
    documents = [file for file in files if file.endswith(".md") and not file.startswith(GENERATED)]
    texts: list[Text] = [text for file, source in modules.items() for text in of_module(file, source)]
    texts += [text for file in documents for text in of_document(file, Path(file).read_text())]
    problems = sorted({*prose.problems(texts), *sizes.problems(modules), *names.problems(modules), *formatting.problems(python)})
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
