"""Every codec, one file each. To add one: write its file, add its name to `AnyCodec`."""

from typing import Annotated

from pydantic import Field

from gradstream.codecs.raw import Raw

AnyCodec = Annotated[Raw, Field(discriminator="name")]
