"""The tables that the migrations make are those of the models; and the way back works too."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import inspect

import migrations
from backend.platform import Platform


def config_for(platform: Platform) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config


def test_models_and_migrations_are_in_step(platform: Platform) -> None:
    config = config_for(platform)
    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.check(config)


def test_down_and_up_again(platform: Platform) -> None:
    config = config_for(platform)
    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        before = set(inspect(connection).get_table_names())
        command.downgrade(config, "base")
        assert set(inspect(connection).get_table_names()) == {"alembic_version"}
        command.upgrade(config, "head")
        assert set(inspect(connection).get_table_names()) == before
