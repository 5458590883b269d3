"""Secrets: random ones that are stored as hashes, and derived ones that are stored nowhere.

Tokens have 256 random bits, so a plain hash protects them as well as a slow one would. Secrets that a process receives again and
again (its token, its password on the data plane) are derived from the signing key: the database holds nothing that opens anything.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from uuid import UUID


def new_token(prefix: str) -> str:
    """Make a token with 256 random bits. The prefix tells people, and secret scanners, the kind of a token that they find."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


class Derived:
    def __init__(self, signing_key: bytes) -> None:
        if len(signing_key.strip()) < 16:
            raise ValueError("the signing key has fewer than 16 bytes; make one with: openssl rand -hex 32")
        self._key = signing_key.strip()

    def _derive(self, purpose: str, subject: str) -> str:
        return hmac.digest(self._key, f"{purpose}:{subject}".encode(), "sha256").hex()

    def process_token(self, process_id: UUID) -> str:
        return f"gsp_{process_id.hex}_{self._derive('process', process_id.hex)}"

    def process_of(self, token: str) -> UUID | None:
        """Return the process whose token this is, or None for a token that this key did not make."""
        prefix, _, rest = token.partition("_")
        identity, _, _ = rest.partition("_")
        try:
            process_id = UUID(hex=identity)
        except ValueError:
            return None
        made = self.process_token(process_id)
        return process_id if prefix == "gsp" and hmac.compare_digest(made.encode(), token.encode()) else None

    def live_password(self, node_id: UUID, credential_hash: bytes) -> str:
        """Return the password of a node's account on the live Redis: another credential has another one."""
        return self._derive("live", f"{node_id.hex}:{credential_hash.hex()}")

    def plane_password(self, plane_id: str) -> str:
        return self._derive("plane", plane_id)
