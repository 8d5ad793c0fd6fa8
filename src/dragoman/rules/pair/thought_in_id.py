"""A call id that carries a thought signature in its tail.

Some proxies hand out ids such as `call_1__thought__…`. Other providers refuse them as too long, and do not know the
signature. The tail is cut off the call and off every result that names it. The ids in the answer are mapped back. A
target that takes such signatures gets it where it belongs (LiteLLM hands them out so:
https://github.com/BerriAI/litellm/pull/16895).

Loses metadata: the proxy that made the id can read its tail.

    user: Hi
    call look(call_1__thought__c2ln) {}
    result call_1__thought__c2ln: 12 degrees
becomes
    user: Hi
    call look(call_1) {}
    result call_1: 12 degrees
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Opaque, Origin, Part, Result, StateKind
from dragoman.conversation.traits import THOUGHT_MARK
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule

DID = "took a thought signature off its id"


@rule(
    "thought-in-id",
    when=lambda facts: facts.thought_in_id is Stance.REFUSES,
    looks_for=traits.ODD_IDS | traits.UNPAIRED,
    loses=Loss.METADATA,
)
def thought_in_id(conversation: Conversation, context: Context) -> Rewrite:
    undo: dict[str, str] = {}
    put_on_call: set[str] = set()

    def cut_id(message: Message, part: Part) -> Swap | None:
        if type(part) is Call and THOUGHT_MARK in part.id:
            short, _, tail = part.id.partition(THOUGHT_MARK)
            undo[short] = part.id
            if not tail or part.signature is not None or StateKind.THOUGHT not in context.facts.reasoning_states:
                return Swap((replace(part, id=short),), DID)
            put_on_call.add(part.id)
            held = Opaque(kind=StateKind.THOUGHT, json=quote(tail), origin=Origin(context.facts.dialect))
            return Swap((replace(part, id=short, signature=held),), f"{DID} and put it on the call", Loss.NOTHING)
        if type(part) is Result and THOUGHT_MARK in part.call_id:
            loses = Loss.NOTHING if part.call_id in put_on_call else Loss.METADATA
            return Swap((replace(part, call_id=part.call_id.partition(THOUGHT_MARK)[0]),), DID, loses)
        return None

    done = rewrite_parts(conversation, cut_id)
    notes: tuple[Note, ...] = done.notes
    return Rewrite(done.conversation, notes, Undo(ids=undo)) if notes else done
