"""What the documents point at exists: links, files, and names in files."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/*.md"), *ROOT.glob("examples/*/README.md")])
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_PLACE = re.compile(r"`([\w./-]+\.(?:py|ts|tsx|md|yml|yaml|toml))`((?: `[\w.]+`(?=[\s,;:.)|]))?)")
_TEST = re.compile(r"`(test_\w+)`")
_OURS = re.compile("(gradstream|backend|worker_agent|ps_node|worker_node|tests|migrations|frontend|docs|deploy|examples)/")

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def prose(document: Path) -> str:
    """Without blocks of code."""
    return re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)


@each_document
def test_links_lead_somewhere(document: Path) -> None:
    for link in _LINK.findall(prose(document)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: there is no such heading"


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_document
def test_files_and_names_in_them_exist(document: Path) -> None:
    for path, name in _PLACE.findall(prose(document)):
        if not _OURS.match(path):
            continue
        assert (ROOT / path).exists(), path
        if name and path.endswith(".py"):
            wanted = name.strip(" `")
            assert wanted in names(ROOT / path), f"{path} has no {wanted}"


@cache
def names(path: Path) -> frozenset[str]:
    """All that a module, its classes and their methods define: `Link.post`, `Link`, `GRACE_PERIOD`."""
    found: set[str] = set()

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for each in body:
            match each:
                case ast.ClassDef(name=name, body=inner):
                    found.add(prefix + name)
                    walk(inner, f"{prefix}{name}.")
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(prefix + name)
                case ast.Assign(targets=targets):
                    found.update(prefix + node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
                case ast.AnnAssign(target=ast.Name(id=name)):
                    found.add(prefix + name)

    walk(ast.parse(path.read_text()).body, "")
    return frozenset(found)


@each_document
def test_tests_that_are_named_exist(document: Path) -> None:
    assert set(_TEST.findall(prose(document))) <= every_test()


@cache
def every_test() -> frozenset[str]:
    """Names of test functions, and of the files that have them."""
    files = [*ROOT.glob("tests/**/test_*.py")]
    functions = re.findall(r"^\s*def (test_\w+)", "\n".join(path.read_text() for path in files), re.MULTILINE)
    return frozenset([*functions, *(path.stem for path in files)])


def test_every_document_can_be_reached_from_the_readme() -> None:
    seen, todo = set[Path](), [ROOT / "README.md"]
    while todo:
        document = todo.pop()
        if document in seen or document.suffix != ".md":
            continue
        seen.add(document)
        links = [link.partition("#")[0] for link in _LINK.findall(document.read_text()) if not re.match(r"[a-z]+:", link)]
        todo += [target for link in links if link and (target := (document.parent / link).resolve()).exists()]
    assert set(DOCUMENTS) - set(ROOT.glob("examples/*/*")) <= seen


def test_the_table_of_decisions_has_each_once_under_its_number() -> None:
    folder = ROOT / "docs/adr"
    listed = re.findall(r"^\| \[(\d+)\]\(([\w-]+\.md)\) \|", (folder / "README.md").read_text(), re.MULTILINE)
    assert sorted(name for _, name in listed) == sorted(page.name for page in folder.glob("[0-9]*.md"))
    for number, name in listed:
        assert int(number) == int(name[:4])
        assert (folder / name).read_text().startswith(f"# {number}. ")
