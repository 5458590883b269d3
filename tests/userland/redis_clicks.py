"""The click model of `parquet_clicks`, which learns from a Redis stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parquet_clicks import ParquetClicks

from gradstream import data


class RedisClicks(ParquetClicks):
    url_file: str
    """Holds the URL with its password: it is not in the job file."""
    key: str

    def dataset(self, split: str) -> Any:
        if split != "train":
            return super().dataset(split)
        url = Path(self.url_file).read_text()
        return data.redis_stream(url, self.key, ["price"], "click", ids=["user"], hashed=["tags"], pass_size=500)
