"""A system text that is a header for the client's own vendor.

Some agents put a line such as `x-anthropic-billing-header: cc_version=2.1` into the system text. Their vendor reads it
and takes it out. For every other model it is noise at the start of the prompt, and it changes with every version of the
agent. So it stays home when the request is translated.

Loses metadata.

For `openai/gpt-4o`, from `anthropic`:

    {"max_tokens": 9, "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1;"},
      {"type": "text", "text": "Be brief."}], "messages": [{"role": "user", "content": "Hi"}]}
becomes
    {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}], "max_tokens": 9}
"""

from __future__ import annotations

import re

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.messages import DEVELOPER, SYSTEM, Message
from dragoman.conversation.parts import Part, Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule

_HEADER = re.compile(rb'"x-[a-z0-9]{1,32}-billing-header:[^\\]{0,1024}"')
"""The whole literal of such a line. One with a line break or a quote says more than that, and stays."""


@rule(
    "vendor-header",
    when=lambda facts: facts.vendor_header is Stance.REFUSES,
    looks_for=traits.SYSTEM,
    loses=Loss.METADATA,
    turnwise=lambda context: True,
)
def vendor_header(conversation: Conversation, context: Context) -> Rewrite:
    system = [one for one in conversation.messages if one.role is SYSTEM or one.role is DEVELOPER]
    if not any(_leave_out(message, part) for message in system for part in message.parts):
        return Rewrite(conversation)
    return rewrite_parts(conversation, _leave_out)


def _leave_out(message: Message, part: Part) -> Swap | None:
    if message.role not in SYSTEM_ROLES or type(part) is not Text or not _HEADER.fullmatch(part.literal):
        return None
    return Swap((), "left out a header for the client's own vendor")
