"""The click model of `parquet_clicks`, which learns from a Kafka topic."""

from __future__ import annotations

from typing import Any

from parquet_clicks import ParquetClicks

from gradstream import data


class KafkaClicks(ParquetClicks):
    servers: str
    topic: str
    settings: str
    """A file with settings of the client: passwords are not in the job file."""

    def dataset(self, split: str) -> Any:
        if split != "train":
            return super().dataset(split)
        fields: dict[str, Any] = {"ids": ["user"], "hashed": ["tags"], "pass_size": 500, "settings": self.settings, "idle": 1.0}
        return data.kafka(self.servers, self.topic, ["price"], "click", **fields)
