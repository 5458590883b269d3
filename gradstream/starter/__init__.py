"""A new project: the files of `template/`, under the names that a user chooses. Imports no torch.

    project = Starter.create(Path("my-digits"), name=None, strategy="sync")
    project.write()

`template/` is a project itself, so that the linter, the type checker and the tests read what users get.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gradstream.errors import Conflict, Invalid
from gradstream.starter.names import check_name, class_of, module_of

TEMPLATE = Path(__file__).parent / "template"
FILES = ("newproject.py", "test_newproject.py", "job.yaml", "README.md", "gitignore")
"""In the order in which `gradstream init` lists them. `gitignore` has no dot here, else git would follow it in this folder."""
_NAME, _MODULE, _CLASS = "new-project", "newproject", "NewProject"
"""Placeholders of the names in the template."""
_STRATEGY, _WORKERS = "{name: sync, lr: 0.3}", "{count: 2}"


@dataclass(frozen=True, slots=True)
class Starter:
    folder: Path
    name: str
    """Name of the job; the module and the class are named after it."""
    strategy: str

    @classmethod
    def create(cls, folder: Path, *, name: str | None, strategy: str) -> Starter:
        """`name`: default: that of the folder. Writes nothing.

        Raises: Invalid: a name that no job or module can have; an unknown strategy; a folder that is no project."""
        check_strategy(strategy)
        _check_folder(folder)
        chosen = folder.resolve().name if name is None else name
        check_name(chosen, folder, given=name is not None)
        return cls(folder, chosen, strategy)

    @property
    def entrypoint(self) -> str:
        return f"{module_of(self.name)}:{class_of(self.name)}"

    def files(self) -> dict[Path, str]:
        """The text of each file by its path."""
        return {self.folder / self._renamed(name).replace("gitignore", ".gitignore"): self._text(name) for name in FILES}

    def write(self) -> list[Path]:
        """Write all files, or none. Raises: Conflict: one is there already. OSError."""
        texts = self.files()
        self._refuse_to_replace([*texts, self.folder / module_of(self.name) / "__init__.py"])
        with _all_or_nothing(self.folder) as written:
            for path, text in texts.items():
                with path.open("x", encoding="utf-8") as file:
                    written.append(path)
                    file.write(text)
        return written

    def _refuse_to_replace(self, paths: list[Path]) -> None:
        """A package of the same name is refused, too: Python would import it in place of the module."""
        there = [str(path.relative_to(self.folder)) for path in paths if os.path.lexists(path)]
        if there:
            them = "it" if len(there) == 1 else "them"
            said = f"{self.folder} already has {', '.join(there)}, and init replaces no file"
            raise Conflict(f"{said}; name another FOLDER, or move {them} away", files=there)

    def _text(self, name: str) -> str:
        text = (TEMPLATE / name).read_text(encoding="utf-8")
        if name == "job.yaml":
            text = self._with_strategy(text)
        return self._renamed(text)

    def _with_strategy(self, text: str) -> str:
        from gradstream.strategies import STRATEGIES

        most = STRATEGIES[self.strategy].workers
        text = text.replace(_STRATEGY, _STRATEGY.replace("sync", self.strategy))
        return text.replace(_WORKERS, _WORKERS.replace("2", str(min(most or 2, 2))))

    def _renamed(self, text: str) -> str:
        names = {_NAME: self.name, _MODULE: module_of(self.name), _CLASS: class_of(self.name)}
        return re.sub("|".join(names), lambda found: names[found[0]], text)


def check_strategy(name: str) -> None:
    """Raises: Invalid."""
    from difflib import get_close_matches

    from gradstream.strategies import STRATEGIES

    if name not in STRATEGIES:
        close = get_close_matches(name, STRATEGIES, 1, 0.5)
        hint = f"did you mean '{close[0]}'? There are" if close else "there are"
        raise Invalid(f"--strategy: there is no strategy '{name}'; {hint}: {', '.join(STRATEGIES)}")


def _check_folder(folder: Path) -> None:
    from gradstream.bundle.roots import non_project

    if folder.exists() and not folder.is_dir():
        raise Conflict(f"FOLDER: {folder} is a file; name a folder")
    if what := non_project(folder):
        raise Invalid(f"FOLDER: {folder} is {what}, whose files are never sent; name a folder of its own for the project")


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[list[Path]]:
    """The list takes what was written, which is removed if the rest cannot be."""
    written: list[Path] = []
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield written
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
        raise
