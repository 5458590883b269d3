"""Which platform to talk to, and as whom: flags, then the environment, then `gradstream login`, then the platform that runs here.

A token is only ever sent to the address that it was kept with: whoever names another address must bring its token, too.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
from pydantic import SecretStr
from pydantic_settings import BaseSettings

from gradstream.errors import NotFound, NotSignedIn
from gradstream.hostnames import program_url

DEFAULT_DATA_DIR = Path(platformdirs.user_data_dir("gradstream"))


class ClientSettings(BaseSettings, frozen=True, env_prefix="GRADSTREAM_"):
    url: str | None = None
    """The platform's address, e.g. https://gradstream.example.org"""
    token: SecretStr | None = None
    token_file: Path | None = None
    data_dir: Path = DEFAULT_DATA_DIR
    """Data folder of the platform that `gradstream up` runs on this machine; its client.json has the address and a token."""
    config_dir: Path = Path(platformdirs.user_config_dir("gradstream"))
    """Folder in which `gradstream login` keeps address and token."""

    @property
    def login_file(self) -> Path:
        return self.config_dir / "credentials.json"


@dataclass(frozen=True, slots=True)
class Credentials:
    url: str
    token: str = field(repr=False)

    @classmethod
    def at(cls, url: str, token: str) -> Credentials:
        """For an address as people write it: without a scheme, or with the API's path."""
        url = url.strip().rstrip("/").removesuffix("/api/v1")
        return cls(program_url(url if "://" in url else f"http://{url}"), token)

    @classmethod
    def find(
        cls,
        *,
        url: str | None = None,
        token: str | None = None,
        token_file: Path | None = None,
        settings: ClientSettings | None = None,
    ) -> Credentials:
        """Raises: NotSignedIn, saying what to do."""
        settings = settings or ClientSettings()
        wanted = url or settings.url
        file = token_file or settings.token_file
        if not token:
            token = read_token(file) if file else settings.token.get_secret_value() if settings.token else ""
        named = cls.at(wanted, token) if wanted else None
        if named and token:
            return named
        for kept in (cls.load(settings.login_file), cls.load(settings.data_dir / "client.json")):
            if kept and (named is None or named.url == kept.url):
                return cls(kept.url, token or kept.token)
        if wanted:
            raise NotSignedIn(f"there is no token for {wanted}; run `gradstream login {wanted}` or set GRADSTREAM_TOKEN")
        raise NotSignedIn("no platform is known; start one with `gradstream up`, or run `gradstream login URL`")

    @classmethod
    def load(cls, path: Path) -> Credentials | None:
        """None: no such file, or none of ours."""
        try:
            kept = json.loads(path.read_text())
            return cls.at(kept["url"], kept["token"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, path: Path) -> None:
        """Write the file, readable by its owner only."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(".tmp")
        temporary.unlink(missing_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump({"url": self.url, "token": self.token}, file)
        temporary.replace(path)


def read_token(path: Path) -> str:
    """Raises: NotFound: it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError as error:
        raise NotFound(f"the token file {path} cannot be read: {error.strerror}") from error
