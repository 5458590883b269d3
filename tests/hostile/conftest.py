"""The control plane of the integration tests."""

from tests.integration.backend.conftest import *  # noqa: F403
