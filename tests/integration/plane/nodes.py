"""A real Redis Cluster on the loopback interface: processes of the embedded server, each with a part of the slots."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradstream.local.servers.redis import Redis, start_on_free_port
from gradstream.wire.redis.client import connect
from tests.support import eventually

SLOTS = 16_384


class Node(Redis):
    def _write_configuration(self) -> None:
        super()._write_configuration()
        with (self._run / "redis.conf").open("a") as file:
            file.write(f"cluster-enabled yes\ncluster-port {_free_port()}\nmasterauth {self.password}\n")


class Nodes:
    """`count` primaries that know one another. They end with `stop`."""

    def __init__(self, folder: Path, password_file: Path, count: int = 3) -> None:
        self.password_file, self.nodes = password_file, list[Redis]()
        for number in range(count):
            self.nodes.append(start_on_free_port(self._maker(folder / f"node-{number}", folder / f"node-{number}.log")))
        clients = [connect(node.url, password=node.password) for node in self.nodes]
        bounds = [SLOTS * number // count for number in range(count + 1)]
        for number, client in enumerate(clients):
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for client in clients[1:]:
            host, port = self._address(self.nodes[0])
            client.execute_command("CLUSTER", "MEET", host, port, self._bus_port(self.nodes[0]))
        for client in clients:
            eventually(lambda client=client: self._whole(client, count), "all nodes to know one another")

    @property
    def url(self) -> str:
        return ",".join(node.url.replace("redis://", "redis-cluster://") for node in self.nodes)

    @property
    def password(self) -> str:
        return self.nodes[0].password

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def _maker(self, run: Path, log: Path) -> Callable[[int], Redis]:
        return lambda port: Node(run.name, run, log=log, password_file=self.password_file, port=port)

    def _whole(self, client: Any, count: int) -> bool:
        info = dict(line.split(":") for line in client.execute_command("CLUSTER", "INFO").decode().split())
        return info["cluster_state"] == "ok" and info["cluster_size"] == str(count)

    def _address(self, node: Redis) -> tuple[str, int]:
        host, _, port = node.url.removeprefix("redis://").partition(":")
        return host, int(port)

    def _bus_port(self, node: Redis) -> int:
        [line] = [line for line in (node._run / "redis.conf").read_text().splitlines() if line.startswith("cluster-port")]
        return int(line.split()[1])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
