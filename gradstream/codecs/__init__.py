"""Every codec, one file each. To add one: write its file, add its name to `AnyCodec`."""

from typing import Annotated, get_args

from pydantic import Field

from gradstream.codecs.base import Codec
from gradstream.codecs.bf16 import Bf16
from gradstream.codecs.fp16 import Fp16
from gradstream.codecs.int8 import Int8
from gradstream.codecs.onebit import OneBit
from gradstream.codecs.randomk import RandomK
from gradstream.codecs.raw import Raw
from gradstream.codecs.topk import TopK

AnyCodec = Annotated[Raw | Bf16 | Fp16 | Int8 | OneBit | TopK | RandomK, Field(discriminator="name")]

PullCodec = Annotated[Raw | Bf16, Field(discriminator="name")]
"""How the center may travel: what is rounded again and again must not drift, and rounding a bfloat16 changes nothing."""

CODECS: dict[str, type[Codec]] = {cls.model_fields["name"].default: cls for cls in get_args(get_args(AnyCodec)[0])}
