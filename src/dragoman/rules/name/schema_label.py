"""A name or a description of the answer's schema that the target does not take.

OpenAI's formats name the schema of an answer, and may describe it. The model reads both. Other formats have fields for
neither: the name becomes the schema's `title` there, and the description comes before that of the schema. A schema that
has another title keeps it. In a name, every character that the target does not take becomes an underscore, and a name
that is too long ends in a short hash.

Loses nothing; metadata with a name for which there is no place.

For `gemini/gemini-2.5-flash`, from `openai-chat`:

    {"messages": [{"role": "user", "content": "Hi"}], "response_format": {"type": "json_schema", "json_schema":
      {"name": "city", "description": "Where it is.", "schema": {"type": "object"}}}}
becomes
    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"responseMimeType":
      "application/json", "responseJsonSchema": {"title": "city", "description": "Where it is.", "type": "object"}}}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.canonical import base62
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import unquote
from dragoman.conversation.settings import UNNAMED, ResponseFormat
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.naming import form, replace_odd_letters
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule
from dragoman.rules.schema.labels import label_schema, read_text_member

_LENGTH = 64
"""The greatest length of a name that is made here."""


@rule(
    "schema-label",
    when=lambda facts: facts.format_labels is Stance.REFUSES or bool(facts.format_name_pattern),
    looks_for=traits.FORMAT,
    loses=Loss.METADATA,
)
def schema_label(conversation: Conversation, context: Context) -> Rewrite:
    wanted, facts = conversation.settings.response_format, context.facts
    if wanted is None or not (wanted.name or wanted.description):
        return Rewrite(conversation)
    notes: list[Note] = []
    change = _put_inside if facts.format_labels is Stance.REFUSES else _write_name
    return rewrite_settings(conversation, notes, response_format=change(wanted, facts, notes))


def _write_name(wanted: ResponseFormat, facts: Facts, notes: list[Note]) -> ResponseFormat:
    fits = form(facts.format_name_pattern).fullmatch
    if not wanted.name or fits(wanted.name):
        return wanted
    name = replace_odd_letters(wanted.name)
    if not fits(name):
        name = f"{name[: _LENGTH - 9]}_{base62(wanted.name, length=8)}"
    did = "wrote the name of the answer's schema in the target's form"
    notes.append(Note(did, key="response_format", loses=Loss.NOTHING, before=wanted.name, after=name))
    return replace(wanted, name=name)


def _put_inside(wanted: ResponseFormat, facts: Facts, notes: list[Note]) -> ResponseFormat:
    labelled = label_schema(wanted)
    title = read_text_member(labelled, "title")
    if wanted.name not in ("", UNNAMED):
        did, loses = "made the name of the answer's schema its title", Loss.NOTHING
        if title != wanted.name:
            did, loses = "left out the name of the answer's schema", Loss.METADATA
        notes.append(Note(did, key="response_format", loses=loses, before=wanted.name, after=title))
    if wanted.description is not None:
        did, loses = "put the description of the answer's schema into the schema", Loss.NOTHING
        if unquote(wanted.description) not in read_text_member(labelled, "description"):
            did, loses = "left out the description of the answer's schema", Loss.METADATA
        notes.append(Note(did, key="response_format", loses=loses, before=wanted.description, after=labelled))
    return replace(wanted, schema=labelled, name="", description=None)
