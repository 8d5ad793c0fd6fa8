"""The name of a document in letters that the target does not take, one that another has, or one that has no place.

Bedrock wants names of letters, digits, hyphens, brackets and single spaces, at most 200 of them, and no name twice in a
request. Other letters become hyphens, and a repeated name gets a number. Only Gemini's format names pictures, sounds
and films, and Chat's names no document that is given by URL: such names are left out. Mistral has a member of its own
for the names of documents (fact `title_fields`), which gets them.

Loses metadata; nothing if the name is written elsewhere.

For `bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0`, from `openai-chat`:

    {"messages": [{"role": "user", "content": [{"type": "text", "text": "Sum it up."},
      {"type": "file", "file": {"filename": "Q3 report.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}}]}]}
becomes
    {"messages": [{"role": "user", "content": [{"text": "Sum it up."},
      {"document": {"format": "pdf", "name": "Q3 report-pdf", "source": {"bytes": "JVBERi0="}}}]}]}
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Media, MediaKind, Part, Remote
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.known_fields import name_beside
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule

_LONGEST = 200


@rule(
    "document-title",
    when=lambda facts: (
        bool(facts.document_title_pattern or facts.title_fields) or len(facts.titled_media) < len(MediaKind) + 1
    ),
    looks_for=traits.MEDIA | traits.RESULT_PARTS,
    loses=Loss.METADATA,
)
def document_title(conversation: Conversation, context: Context) -> Rewrite:
    pattern, titled_media = context.facts.document_title_pattern, context.facts.titled_media
    differ = context.facts.duplicate_titles is Stance.REFUSES
    taken: dict[str, int] = {}

    def fit_title(message: Message, part: Part) -> Swap | None:
        if type(part) is not Media:
            return None
        kind, given = part.kind.value, part.title
        if given is not None and type(part.source) is Remote and kind in context.facts.title_fields:
            did = f"wrote the name of the {kind} as `{context.facts.title_fields[kind]}`"
            return Swap((name_beside(part, context.facts),), did, Loss.NOTHING)
        if (f"{kind}-url" if kind == "document" and type(part.source) is Remote else kind) not in titled_media:
            return None if given is None else Swap((replace(part, title=None),), f"left out the name of the {kind}")
        if not pattern or part.kind is not MediaKind.DOCUMENT:
            return None
        title = None if given is None else _fit(given, pattern)
        did = "wrote the name of a document anew"
        if differ:
            name = title or kind  # one without a name is called by its kind
            if name in taken:
                title, did = _number(name, taken), "gave a document another name"
            taken[title or kind] = 1
        loses = Loss.NOTHING if given is None else None
        return None if title == given else Swap((replace(part, title=title),), did, loses)

    return rewrite_parts(conversation, fit_title, inside_results=True)


def _number(name: str, taken: dict[str, int]) -> str:
    """The name with the first number that makes it another one. `taken` has the last number of each. Turns are walked
    in order, so those of a longer conversation keep their names."""
    made = name
    while made in taken:
        taken[name] += 1
        ending = f"-{taken[name]}"
        made = name[: _LONGEST - len(ending)] + ending
    return made


@lru_cache(maxsize=1024)
def _fit(title: str, pattern: str) -> str | None:
    """The nearest name that fits; None if nothing of it does."""
    if len(title) <= _LONGEST and re.fullmatch(pattern, title):
        return title
    words = ["".join([letter if re.fullmatch(pattern, letter) else "-" for letter in word]) for word in title.split()]
    found = " ".join(words)[:_LONGEST].strip()
    return found if found.strip("- ") and re.fullmatch(pattern, found) else None
