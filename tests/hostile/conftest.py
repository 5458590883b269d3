"""The control plane of the integration tests, and the progress of long runs."""

from collections.abc import Callable

import pytest

from tests.hostile.progress import Progress
from tests.integration.backend.conftest import *  # noqa: F403


@pytest.fixture
def progress_of(capfd: pytest.CaptureFixture[str]) -> Callable[[str], Progress]:
    """Make the progress of a run of the attacks that the argument names."""
    return lambda what: Progress(what, capfd.disabled)
