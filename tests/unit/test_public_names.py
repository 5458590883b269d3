"""The names that scripts import from `gradstream`."""

from importlib.util import find_spec

import pytest

import gradstream


@pytest.mark.parametrize("name", [name for name in gradstream.__all__ if name != "__version__"])
def test_no_module_hides_a_public_name(name: str) -> None:
    """A module of that name takes the place of `gradstream.train` when something imports it."""
    assert callable(getattr(gradstream, name))
    assert find_spec(f"gradstream.{name}") is None
