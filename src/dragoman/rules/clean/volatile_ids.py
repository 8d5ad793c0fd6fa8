"""Message ids in system text that change on every turn.

They spoil the prompt cache. This rule changes valid requests, so it is `off` unless you choose `fix`, which puts a
constant in place of the id in `"message_id": "…"` and `[message_id: …]`.

Loses metadata.

With `volatile-ids: fix`:

    system: Be brief. [message_id: 4711]
    user: Hi
becomes
    system: Be brief. [message_id: stable]
    user: Hi
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.conversation import SYSTEM_ROLES
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part, Text
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, each_part
from dragoman.rules.rule import rule

_QUOTED = re.compile(r'("message_id"\s*:\s*")[^"]*(")')
_BRACKETED = re.compile(r"(\[message_id:\s*+)[^\[\]]*+(\])")
CONSTANT = "stable"


@rule(
    "volatile-ids",
    when=lambda facts: True,
    looks_for=traits.SYSTEM,
    loses=Loss.METADATA,
    options=("off", "fix"),
    idle=("off",),
)
@each_part
def volatile_ids(message: Message, part: Part, context: Context) -> Swap | None:
    if message.role not in SYSTEM_ROLES or type(part) is not Text or b"message_id" not in part.literal:
        return None
    text = part.text
    fixed = _BRACKETED.sub(rf"\g<1>{CONSTANT}\g<2>", _QUOTED.sub(rf"\g<1>{CONSTANT}\g<2>", text))
    return None if fixed == text else Swap((replace(part, literal=quote(fixed)),), "made message ids constant")
