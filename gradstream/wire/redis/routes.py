"""Which Redis holds what, when the data plane has several.

| URL                                     | the plane is                                                                  |
|-----------------------------------------|-------------------------------------------------------------------------------|
| redis://host:port, unix:///path         | one Redis                                                                     |
| redis://a:6379,redis://b:6379           | several: all small keys in the first; vectors of shard k in number k, modulo   |
| redis-cluster://a:6379,redis-cluster://b | a Redis Cluster, known by some of its nodes: what keys say in braces decides   |

A process finds its ways once, when it starts. A slot that moves later ends the attempt (`PlaneLost`), and the next one goes on from
the last checkpoint: what a cluster's failover loses, the plane must not guess.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from redis import Redis, exceptions
from redis.crc import key_slot

from gradstream.process.order import PlaneAccess
from gradstream.wire.redis import client, keys
from gradstream.wire.redis.connection import connector
from gradstream.wire.redis.resp import Resp

_CLUSTER = "redis-cluster"


class Routes:
    """The ways of one process of an attempt."""

    def __init__(self, access: PlaneAccess, j: str) -> None:
        self._access, self._j = access, j

    @cached_property
    def home(self) -> PlaneAccess:
        """Where the log, responses and all other small keys are. Waits for a cluster that is away. Raises: PlaneLost."""
        return self._to(keys.log(self._j), 0)

    def shard(self, shard: int) -> PlaneAccess:
        """Where the vectors of a shard are. Waits and raises as `home`."""
        return self._to(keys.payload(self._j, shard, 0, 0), shard)

    def _to(self, key: str, number: int) -> PlaneAccess:
        named = instances(self._access.url)
        url = owner(self._slots, key) if is_cluster(self._access.url) else named[number % len(named)]
        return self._access.model_copy(update={"url": url})

    @cached_property
    def _slots(self) -> list[tuple[int, int, str]]:
        access = self._access
        return client.retry(lambda: slots(access.url, access.user, access.password), what="asking the cluster for its slots")


class Instances(Redis):
    """For the control plane: a client of the first instance that knows all others."""

    _url: str
    _password: str | None
    _clients: dict[str, Redis]

    @classmethod
    def of(cls, url: str, *, password: str | None = None) -> Instances:
        """Nothing is connected yet. Raises: ValueError: no address of the data plane."""
        first = cls.from_url(instances(url)[0], **client.options(None, password))
        assert isinstance(first, Instances), "from_url makes what it is called on"
        first._url, first._password, first._clients = url, password, {}
        return first

    def everywhere(self) -> list[Redis]:
        """Clients of all instances: every one that has a part of the keys."""
        urls = instances(self._url)
        if is_cluster(self._url):
            urls = sorted({url for _, _, url in slots(self._url, None, self._password)})
        return [self._client(url) for url in urls]

    def home(self, j: str) -> Redis:
        """The one with the log of an attempt."""
        if not is_cluster(self._url):
            return self
        return self._client(owner(slots(self._url, None, self._password), keys.log(j)))

    def close(self) -> None:
        super().close()
        for other in self._clients.values():
            other.close()

    def _client(self, url: str) -> Redis:
        if url not in self._clients:
            self._clients[url] = client.connect(url, password=self._password)
        return self._clients[url]


def everywhere(redis: Redis) -> list[Redis]:
    return redis.everywhere() if isinstance(redis, Instances) else [redis]


def home(redis: Redis, j: str) -> Redis:
    return redis.home(j) if isinstance(redis, Instances) else redis


def is_cluster(url: str) -> bool:
    return urlsplit(url).scheme == _CLUSTER


def instances(url: str) -> list[str]:
    """Each as redis://host:port or unix:///path; of a cluster the nodes that are named. Raises: ValueError."""
    named = [part.strip() for part in url.split(",")]
    if len({is_cluster(part) for part in named}) > 1:
        raise ValueError(f"'{url}' mixes a cluster with other addresses: name either nodes of one cluster or single instances")
    plain = [part.replace(f"{_CLUSTER}://", "redis://", 1) for part in named]
    for part in plain:
        connector(part)
    return plain


def slots(url: str, user: str | None, password: str | None) -> list[tuple[int, int, str]]:
    """(first slot, last slot, address) of all primaries, as the first node that answers sees them.

    Raises: of redis.exceptions: no node answers, or what the first that does answers."""
    lost: exceptions.RedisError = exceptions.ConnectionError("no node is named")
    for node in instances(url):
        redis = Resp(node, user=user, password=password, block=client.BLOCK)
        try:
            [found] = redis.ask(("CLUSTER", "SLOTS"))
        except client.AWAY as error:
            lost = error
        else:
            return [(first, last, _address(primary, node)) for first, last, primary, *_ in found]
        finally:
            redis.close()
    raise lost


def owner(of: list[tuple[int, int, str]], key: str) -> str:
    """Raises: redis.exceptions.ClusterDownError."""
    slot = key_slot(key.encode())
    for first, last, url in of:
        if first <= slot <= last:
            return url
    raise exceptions.ClusterDownError(f"no node of the cluster has slot {slot}")


def _address(node: list[Any], seen_from: str) -> str:
    host = node[0].decode() if node[0] else str(urlsplit(seen_from).hostname)  # a node that does not know its own address
    return f"redis://[{host}]:{node[1]}" if ":" in host else f"redis://{host}:{node[1]}"
