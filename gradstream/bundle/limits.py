"""How large a bundle may be."""

MIB = 1024 * 1024
MAX_BYTES = 64 * MIB
"""Of a bundle as it travels."""
MAX_UNPACKED = 256 * MIB
"""Of a bundle unpacked, tar headers included."""
MAX_FILES = 10_000
