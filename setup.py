"""The step of a wheel's build that pyproject.toml cannot express: the built page must be there, and the examples come along."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PAGE = Path("backend/page/index.html")
EXAMPLES = sorted(file for file in Path("examples").glob("*/*") if file.suffix in (".md", ".py", ".yaml"))


class BuildPackages(build_py):
    """An editable installation (`pip install -e`) reads the checkout itself, so it needs neither step."""

    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return
        if not PAGE.is_file():
            raise SystemExit(
                f"{PAGE} is missing, and a wheel contains the web page: run `make page` first, or `make wheel`, which does"
            )
        built = Path(self.build_lib)
        shutil.rmtree(built, ignore_errors=True)  # setuptools would pack modules and assets of earlier builds
        super().run()
        for file in EXAMPLES:
            target = built / "gradstream" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


setup(cmdclass={"build_py": BuildPackages})
