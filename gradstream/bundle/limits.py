"""How large a bundle may be."""

MIB = 1024 * 1024
MAX_BYTES = 64 * MIB
"""Size of a packed bundle."""
MAX_UNPACKED = 256 * MIB
"""Size of an unpacked bundle with its tar headers."""
MAX_FILES = 10_000
MAX_FOLDERS = 10_000
"""Folders that exist only because a file lies in them count, too."""
MAX_DEPTH = 64
"""Folders above a file."""
MAX_EXTENSION = 8 * 1024
"""Bytes of a header that holds a long name or pax records."""
MAX_EXTENSIONS = 8
"""Such headers before one entry; tar programs write at most three."""
