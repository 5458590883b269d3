"""The change of the node's credential, which a user asks for. Processes go on, and a crash at any place leaves one that counts.

make `credential.next`  ->  announce it, with the old one  ->  rename it to `credential`  ->  use it, which ends the old one
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import structlog

from gradstream.errors import Conflict, NotFound
from gradstream.process.machine import change_credential, credential_of, next_credential_of
from worker_agent.api import ControlPlane
from worker_agent.consumer import NodeQueue

log = structlog.get_logger(__name__)


class Rotation:
    """A change that failed in the middle goes on there at the next `step`, until the platform has seen the new credential."""

    def __init__(self, api: ControlPlane, folder: Path) -> None:
        self._api, self._folder = api, folder
        self._asked = self._changed = False

    async def step(self, mailbox: NodeQueue, *, asked: bool) -> NodeQueue:
        """Change the credential if a user has asked for it. Returns the node's place on the broker, with its password of now.

        Raises: Unavailable, NotSignedIn, NodeRemoved: as the control plane does; the next step goes on."""
        self._asked |= asked
        if not self._asked:
            return mailbox
        try:
            if not self._changed:
                await self._api.rotate(credential_of(self._folder), next_credential_of(self._folder))
                change_credential(self._folder)
                self._changed = True
            credential = credential_of(self._folder)
            password = await self._api.rotate(credential, credential)
        except (Conflict, NotFound) as error:  # another version of the platform, or nobody asks any more
            self._asked = False
            log.warning("the control plane takes no other credential; the present one stays", why=str(error))
            return mailbox
        self._asked = self._changed = False
        log.info("changed the credential of this node")
        return replace(mailbox, password=password)
