"""Data sets for `Workload.dataset` that give whole mini-batches at once, straight from files: nothing is copied but the examples
of the batch.

    from gradstream import Workload, data

    def dataset(self, split):
        return data.idx(f"{split}-images.idx3-ubyte", f"{split}-labels.idx1-ubyte").map(data.scaled(1 / 255))

Importing this imports torch; `import gradstream` does not.
"""

from gradstream.data.followed import FollowedFolder, parquet_folder
from gradstream.data.idxfiles import idx
from gradstream.data.kafka_topic.topic import KafkaTopic, kafka
from gradstream.data.numpyfiles import arrays, npy, npz
from gradstream.data.parquetfiles import parquet, parquet_stream
from gradstream.data.ragged import Ragged
from gradstream.data.redis_stream.stream import RedisStream, redis_stream
from gradstream.data.source import Source, Stream, scaled

__all__ = [
    "FollowedFolder",
    "KafkaTopic",
    "Ragged",
    "RedisStream",
    "Source",
    "Stream",
    "arrays",
    "idx",
    "kafka",
    "npy",
    "npz",
    "parquet",
    "parquet_folder",
    "parquet_stream",
    "redis_stream",
    "scaled",
]
