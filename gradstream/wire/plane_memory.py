"""How much of the data plane's memory each attempt holds, measured a little at a time: Redis serves gradients meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from redis import Redis

_KEYS_AT_ONCE = 200
_MEASURE = """
local found, sums, told = redis.call('SCAN', ARGV[1], 'MATCH', 'gs:{*', 'COUNT', ARGV[2]), {}, {}
for _, key in ipairs(found[2]) do
    local j = string.match(key, '^gs:{(%x+%.%d+)[:}]')
    if j then sums[j] = (sums[j] or 0) + (redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 1000) or 0) end
end
for j, bytes in pairs(sums) do told[#told + 1] = {j, string.format('%.0f', bytes)} end
return {found[1], told}
"""


@dataclass(frozen=True, slots=True)
class Fill:
    """How full one instance is."""

    used: int
    capacity: int
    """Bytes: its `maxmemory`, or the memory of its machine without one."""


def read_fill(redis: Redis) -> Fill:
    told: Any = redis.info("memory")
    return Fill(int(told["used_memory"]), int(told.get("maxmemory") or told.get("total_system_memory") or 2**63))


@dataclass(slots=True)
class Walk:
    """One walk over all keys of one instance, in portions."""

    redis: Redis
    held: Counter[str] = field(default_factory=Counter)
    """Bytes by attempt (`J` of the keys), as far as the walk has come."""
    ended: bool = False
    _cursor: str = "0"

    def go_on(self, seconds: float) -> bool:
        """For about so long; whether it has ended."""
        until = time.monotonic() + seconds
        while not self.ended and time.monotonic() < until:
            cursor, told = self.redis.eval(_MEASURE, 0, self._cursor, _KEYS_AT_ONCE)
            for j, size in told:
                self.held[j.decode()] += int(size)
            self._cursor = cursor.decode()
            self.ended = self._cursor == "0"
        return self.ended
