"""What a job would fail at is found in the text of its code; where the text does not settle it, nothing is said."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest

from gradstream.errors import InvalidWorkload
from gradstream.spec import JobSpec
from gradstream.spec.stopping import Stop
from gradstream.workload_source import CodeFindings, check_workload, find_workload, list_workloads, read_folder, read_texts

WHOLE = """
    def model(self): ...
    def dataset(self, split): ...
    def loss(self, model, batch): ...
"""
CIRCLE = f"""
from pathlib import Path
from typing import ClassVar, Literal, Optional
from gradstream import Workload

LIMIT = 3

class Circle(Workload):
    '''Points in a circle.

    More about it.'''
    hidden: int = 32  # units of the hidden layer
    rate: "float | None" = None
    kind: Literal["mlp", "cnn"] = "mlp"
    '''The model: a perceptron,
    or convolutions.

    Not shown.'''
    sizes: list[int] = [1, 2]
    where: Path
    note: Optional[str] = None
    shared: ClassVar[int] = 4
    _own: int = 1
    classifies = False
{WHOLE}
class Helper: ...
def build(): ...
"""


def spec(entrypoint: str, **args: object) -> JobSpec:
    return JobSpec.model_validate(
        {"name": "job", "workload": {"entrypoint": entrypoint, "args": args}, "strategy": {"name": "adag"}, "stop": {"epochs": 1}}
    )


def check(texts: dict[str, str | None], entrypoint: str, **args: object) -> CodeFindings:
    return check_workload(read_texts(texts), spec(entrypoint, **args))


def said(found: CodeFindings) -> list[str]:
    return [f"{each.pointer}: {each.message}" for each in found.errors]


@pytest.mark.parametrize(
    ("entrypoint", "message"),
    [
        ("lab:Cirkle", "there is no class 'Cirkle' in lab.py; did you mean 'Circle'?"),
        ("lab:Nothing", "there is no class 'Nothing' in lab.py; its workloads are Circle"),
        ("lap:Circle", "the code has no module 'lap'; did you mean 'lab:Circle'?"),
        ("other:Ring", "the code has no module 'other'; its workloads are lab:Circle"),
        ("lab:Helper", "'Helper' in lab.py is a class that is no Workload; write `class Helper(gradstream.Workload)`"),
        ("lab:build", "'build' in lab.py is a function; write `class build(gradstream.Workload)`; its workloads are Circle"),
        ("lab:LIMIT", "'LIMIT' in lab.py is a value; write `class LIMIT(gradstream.Workload)`"),
    ],
)
def test_an_entrypoint_that_cannot_work_is_refused_with_what_may_be_meant(entrypoint: str, message: str) -> None:
    [found] = said(check({"lab.py": CIRCLE, "job.yaml": None}, entrypoint, where="x"))
    assert found.startswith(f"/workload/entrypoint: {message}")


def test_arguments_are_checked_as_the_class_itself_would() -> None:
    assert said(check({"lab.py": CIRCLE}, "lab:Circle", where="/data", rate=0.5, kind="cnn", sizes=[4], note="x")) == []
    found = said(check({"lab.py": CIRCLE}, "lab:Circle", hiden=1, hidden="many", kind="rnn", _own=2, shared=1))
    assert [each.partition(": ")[0] for each in found] == [
        "/workload/args/hiden",
        "/workload/args/hidden",
        "/workload/args/kind",
        "/workload/args/_own",
        "/workload/args/shared",
        "/workload/args/where",
    ]
    assert "did you mean 'hidden'?" in found[0]
    assert found[-1] == "/workload/args/where: missing: Circle.where has no default; add it to workload.args"


@pytest.mark.parametrize(
    "args",
    [
        {"hidden": 8, "where": "/data"},
        {"hidden": "8", "where": "/data"},
        {"hidden": 8.5, "where": "/data"},
        {"where": 3},
        {"where": "/data", "kind": "MLP"},
        {"where": "/data", "rate": "fast"},
        {"where": "/data", "sizes": 4},
        {"where": "/data", "hidden": True},
        {},
        {"Hidden": 3},
    ],
)
def test_text_and_class_agree_about_arguments(args: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("lab_of_this_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(CIRCLE, module.__dict__)
    by_class: list[str] = []
    try:
        module.Circle(**args)
    except InvalidWorkload as error:
        by_class = [f"{each.pointer}: {each.message}" for each in error.problems]
    assert said(check({"lab.py": CIRCLE}, "lab:Circle", **args)) == by_class


def test_bases_in_the_code_bring_their_arguments_and_methods_through_imports_and_packages() -> None:
    texts: dict[str, str | None] = {
        "base/__init__.py": "from .core import Base as Root\n",
        "base/core.py": f"import gradstream\nclass Base(gradstream.Workload):\n    width: int\n    depth: int = 2\n{WHOLE}",
        "lab.py": "import base\nclass Mid(base.Root):\n    width = 8\nclass Deep(Mid):\n    depth: str = 'two'\n",
        "main.py": "from lab import Deep as Model\n",
    }
    assert said(check(texts, "main:Model", depth="three")) == []
    assert said(check(texts, "main:Model", depth=[])) == ["/workload/args/depth: Deep.depth is declared as str, and [] is none"]
    assert said(check(texts, "lab:Mid", depth="x")) != []
    [missing] = said(check(texts, "base.core:Base"))
    assert missing.startswith("/workload/args/width: missing")


def test_a_workload_without_a_method_is_refused() -> None:
    text = "from gradstream import Workload\nclass Half(Workload):\n    def model(self): ...\n    def dataset(self, split): ...\n"
    assert said(check({"lab.py": text}, "lab:Half")) == [
        "/workload/entrypoint: Half has no loss(); add `def loss(self, model, batch)`"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "from somewhere import *\n",
        "from somewhere import Thing\n",
        "def __getattr__(name): ...\n",
        "globals()['Thing'] = make()\n",
        "Thing = make()\n",
        "if fast:\n    class Thing: ...\nelse:\n    from slow import Thing\n",
        "try:\n    from fast import Thing\nexcept ImportError:\n    Thing = None\n",
        "from vendor import Base\nclass Thing(Base):\n    x: int\n",
        "from gradstream import Workload\nclass Thing(Workload, metaclass=Magic):\n    x: int\n",
        "from gradstream import Workload\n@decorated\nclass Thing(Workload):\n    x: int\n",
        "from gradstream import Workload\nclass Thing(Workload):\n    def __init__(self, x, y=2): ...\n",
        "from gradstream import Workload\nclass Thing(Workload):\n    if True:\n        x: int\n",
        "import gradstream as g\nfrom vendor import Mixin\nclass Thing(Mixin, g.Workload):\n    x: int\n",
        "class Thing: ...\nThing = register(Thing)\n",
        "def f():\n    global Thing\n    Thing = 3\n",
        "class Thing(\n",
        "x = '\0'\n",
        "(" * 5000,
        "-" * 100_000 + "1",
    ],
)
def test_what_the_text_does_not_settle_is_not_refused(text: str) -> None:
    assert check({"lab.py": text}, "lab:Thing", anything=1).errors == []


def test_a_file_that_this_python_cannot_read_is_a_warning_with_its_line() -> None:
    [warning] = check({"lab.py": "x = 1\nclass Thing(\n"}, "lab:Thing").warnings
    assert "line 2 of lab.py" in warning.message


def test_a_script_part_does_not_count_and_the_last_definition_does() -> None:
    text = f"from gradstream import Workload\nclass Thing: ...\nclass Thing(Workload):\n    x: int = 1\n{WHOLE}\n"
    assert check({"lab.py": text}, "lab:Thing", x=2).errors == []
    only = check({"lab.py": "if __name__ == '__main__':\n    Thing = 1\n"}, "lab:Thing")
    assert "there is no class 'Thing'" in said(only)[0]


@pytest.mark.parametrize(
    ("body", "warning"),
    [
        ("    def dataset(self, split):\n        return DataLoader(x, 4)\n", "return the Dataset itself"),
        ("    def dataset(self, split):\n        made = td.DataLoader(x)\n        return made\n", "return the Dataset itself"),
        ("    def dataset(self, split):\n        return ['a', 'b'] * 50\n", "a list of texts"),
        (
            "    def loss(self, model, batch):\n        return F.cross_entropy(a, b, reduction='sum')\n",
            "fits depends on batch_size",
        ),
        ("    def loss(self, model, batch):\n        return nn.MSELoss(reduction='sum')(a, b)\n", "a sum over the mini-batch"),
        ("    def loss(self, model, batch):\n        return (a - b).square().sum()\n", "a sum over the mini-batch"),
        ("    def loss(self, model, batch):\n        return torch.sum((a - b) ** 2)\n", "a sum over the mini-batch"),
        (
            "    def loss(self, model, batch):\n        return F.mse_loss(a, b, reduction='none').sum()\n",
            "a sum over the mini-batch",
        ),
        (
            "    def loss(self, model, batch):\n        how = nn.MSELoss(size_average=False)\n        return how(a, b)\n",
            "a sum over the mini-batch",
        ),
        ("    def loss(self, model, batch):\n        return F.mse_loss(a, b, size_average=False)\n", "a sum over the mini-batch"),
        (
            "    def loss(self, model, batch):\n        t = 0.0\n        for a in b:\n            t += (a - 1).square().sum()\n"
            "        return t\n",
            "a sum over the mini-batch",
        ),
        ("    def loss(self, model, batch):\n        return F.mse_loss(a, b, reduce=False)\n", "one value for each example"),
        (
            "    def loss(self, model, batch):\n        return F.cross_entropy(a, b, reduction='none')\n",
            "one value for each example",
        ),
        ("    def dataset(self, split):\n        return read(open('data/x.csv'))\n", "'data/x.csv' is not among the code"),
    ],
)
def test_likely_mistakes_are_warnings_with_their_line(body: str, warning: str) -> None:
    head = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
    head += "from gradstream import Workload\nfrom torch.utils.data import DataLoader\nfrom torch.utils import data as td\n"
    found = check({"lab.py": f"{head}class Thing(Workload):\n{WHOLE}{body}"}, "lab:Thing")
    assert found.errors == []
    assert len(found.warnings) == 1
    assert warning in found.warnings[0].message
    assert "of lab.py)" in found.warnings[0].message


@pytest.mark.parametrize(
    "body",
    [
        "    def loss(self, model, batch):\n        return F.cross_entropy(a, b, reduction='sum') / len(batch)\n",
        "    def loss(self, model, batch):\n        x = F.mse_loss(a, b, reduction='sum')\n        x = x / 4\n        return x\n",
        "    def loss(self, model, batch):\n        return nn.MSELoss(reduction='mean')(a, b)\n",
        "    def loss(self, model, batch):\n        return (a - b).square().sum(1).mean()\n",
        "    def loss(self, model, batch):\n        return torch.stack([a.mean(), b.mean()]).sum()\n",
        "    def loss(self, model, batch):\n        return F.mse_loss(a, b).sum()\n",
        "    def loss(self, model, batch):\n        return (a - b).square().sum() / len(a)\n",
        "    def loss(self, model, batch):\n        return F.mse_loss(a, b, size_average=True)\n",
        "    def loss(self, model, batch):\n        t = 0\n        for a in b: t += a.sum()\n        return t / len(b)\n",
        "    def loss(self, model, batch):\n        t = 0\n        for a in b: t += F.mse_loss(a, b)\n        return t\n",
        "    def loss(self, model, batch):\n        t = F.mse_loss(a, b)\n        for a in b: t += a.sum()\n        return t\n",
        "    def loss(self, model, batch):\n        t = 0\n        t += a.sum()\n        t /= 4\n        return t\n",
        "    def dataset(self, split):\n        def inner():\n            return DataLoader(x)\n        return Own(inner)\n",
        "    def dataset(self, split):\n        return read(open('note.txt'), open('log', 'w'), open('/data/x'))\n",
    ],
)
def test_code_that_is_right_has_no_warning(body: str) -> None:
    head = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
    head += "from gradstream import Workload\nfrom torch.utils.data import DataLoader\n"
    assert check({"lab.py": f"{head}class Thing(Workload):\n{WHOLE}{body}", "note.txt": None}, "lab:Thing").warnings == []


def test_a_workload_is_found_by_any_entrypoint_that_names_it() -> None:
    code = read_texts({"lab.py": CIRCLE, "outer.py": "from lab import Circle as Round"})
    for entrypoint in ("lab:Circle", "outer:Round"):
        found = find_workload(code, entrypoint)
        assert found is not None
        assert found.arguments is not None
        assert [(each.name, each.default) for each in found.arguments if not each.required][:2] == [("hidden", 32), ("rate", None)]
    assert [find_workload(code, entrypoint) for entrypoint in ("lab:Square", "lab:Helper", "none:Circle")] == [None] * 3


def test_workloads_are_listed_with_their_arguments() -> None:
    texts: dict[str, str | None] = {
        "lab.py": CIRCLE,
        "deep/inner.py": "from lab import Circle\nclass Ring(Circle): ...\n",
        "job.yaml": None,
    }
    ring, circle = sorted(list_workloads(read_texts(texts)), key=lambda each: each.entrypoint)
    assert (circle.entrypoint, circle.summary, ring.entrypoint) == ("lab:Circle", "Points in a circle.", "deep.inner:Ring")
    assert circle.arguments
    assert [(each.name, each.annotation, each.required) for each in circle.arguments] == [
        ("hidden", "int", False),
        ("rate", "'float | None'", False),
        ("kind", "Literal['mlp', 'cnn']", False),
        ("sizes", "list[int]", False),
        ("where", "Path", True),
        ("note", "Optional[str]", False),
    ]
    assert [each.default for each in circle.arguments][:4] == [32, None, "mlp", [1, 2]]
    helps = {each.name: each.help for each in circle.arguments if each.help}
    assert helps == {"hidden": "units of the hidden layer", "kind": "The model: a perceptron, or convolutions."}


def test_help_of_an_argument_is_that_of_the_class_that_annotates_it_last() -> None:
    code = (
        "from gradstream import Workload\n"
        "class Base(Workload):\n"
        "    rate: float = 0.1  # noqa: E501\n"
        "    depth: int = 2; width: int = 8  #: größer\n"
        "    deep: int = 1\n"
        "    'of the base'\n"
        "class Mine(Base):\n"
        "    depth: int = 3\n"
        "    deep: int = 2  # of the class\n"
        f"{WHOLE}"
    )
    found = find_workload(read_texts({"lab.py": code}), "lab:Mine")
    assert found
    helps = {each.name: each.help for each in found.arguments or () if each.help}
    assert helps == {"width": "größer", "deep": "of the class"}


def test_a_folder_may_use_what_is_installed_unless_it_is_all_that_is_sent(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text("import torch\n")
    installed, nowhere = spec("torch.nn:Thing"), spec("no_such_package:Thing")
    assert check_workload(read_folder(tmp_path, whole=False), installed).errors == []
    assert check_workload(read_folder(tmp_path, whole=True), installed).errors != []
    assert check_workload(read_folder(tmp_path, whole=False), nowhere).errors != []


def test_nothing_of_the_code_runs_and_torch_is_not_imported(tmp_path: Path) -> None:
    trap = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n{CIRCLE}"
    (tmp_path / "lab.py").write_text(trap)
    program = (
        "import sys, pathlib\nfrom gradstream.workload_source import *\n"
        f"[found] = list_workloads(read_folder(pathlib.Path({str(tmp_path)!r}), whole=True))\n"
        "assert found.entrypoint == 'lab:Circle'\nassert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert not (tmp_path / "ran").exists()


ADAPTED = """
from gradstream.adapters.lightning import LightningWorkload
from gradstream.adapters import transformers

class Lit(LightningWorkload):
    hidden: int = 8
    def module(self): ...
    def dataset(self, split): ...

class Half(LightningWorkload):
    def dataset(self, split): ...

class Tiny(transformers.TransformersWorkload):
    auto = "AutoModelForCausalLM"
    def config(self): ...
    def dataset(self, split): ...
"""


def test_workloads_of_adapters_are_read_like_others() -> None:
    assert [each.entrypoint for each in list_workloads(read_texts({"a.py": ADAPTED}))] == ["a:Lit", "a:Tiny"]
    assert said(check({"a.py": ADAPTED}, "a:Lit", hidden=3)) == []
    assert said(check({"a.py": ADAPTED}, "a:Lit", hiden=3)) == ["/workload/args/hiden: unknown argument; did you mean 'hidden'?"]
    assert said(check({"a.py": ADAPTED}, "a:Half")) == ["/workload/entrypoint: Half has no module(); add `def module(self)`"]


def test_scores_of_adapters_are_not_known_from_the_text() -> None:
    target = {"metric": "eval/val_accuracy", "at_least": 0.9}
    job = spec("a:Lit").model_copy(update={"stop": Stop.model_validate({"epochs": 1, "target": target})})
    assert check_workload(read_texts({"a.py": ADAPTED}), job).errors == []
