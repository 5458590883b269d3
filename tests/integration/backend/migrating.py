"""Alembic for the database and the files of a platform under test."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config

import migrations
from backend.platform import Platform


def config_for(platform: Platform) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["files"] = platform.files.root
    return config
