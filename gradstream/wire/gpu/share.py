"""The part of a GPU's memory that a process may take, where it does not allocate all by torch. Pure."""

from __future__ import annotations


class DeviceMemoryError(Exception):
    """The memory cannot be allocated or opened."""


class MemoryShare:
    def __init__(self, total: int, share: int) -> None:
        """`total`: bytes of the GPU. `share`: k, if the process may take 1/k of them."""
        self._total, self.share = total, share
        self.taken = 0
        """Bytes that torch does not count."""

    @property
    def rest(self) -> float:
        """The fraction of the GPU that is left to torch."""
        return max(0, self._total // self.share - self.taken) / self._total

    def require(self, nbytes: int, of_torch: int) -> None:
        """`of_torch`: bytes that torch holds now. Raises: DeviceMemoryError: the share has not as many bytes left."""
        free = max(0, self._total // self.share - self.taken - of_torch)
        if self.share > 1 and nbytes > free:
            raise DeviceMemoryError(f"{nbytes / 1e6:.0f} MB are more than the {free / 1e6:.0f} MB that its share has left")
