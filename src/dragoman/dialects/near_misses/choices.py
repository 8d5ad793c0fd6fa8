"""A tool choice in the words of any dialect."""

from __future__ import annotations

from dragoman.conversation.parts import Json
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.dialects.shared.raw_json import Fields, fields_of, first_of, items_of, text_of
from dragoman.errors import MalformedRequest

_MODES = {
    "auto": ChoiceMode.AUTO,
    "validated": ChoiceMode.AUTO,
    "none": ChoiceMode.NONE,
    "required": ChoiceMode.REQUIRED,
    "any": ChoiceMode.REQUIRED,
}
_KINDS = frozenset({"", "tool", "function"})


def parse_any_choice(raw: Json) -> ToolChoice | None:
    """The choice that is meant, or None if that is not clear. A word that is no mode is the name of a tool."""
    if raw[:1] == b'"':
        return _parse_word(text_of(raw))
    fields = fields_of(raw)
    if fields is None:
        return None
    if text_of(fields.get("type")) == "allowed_tools":
        return _parse_allowance(fields_of(fields.get("allowed_tools")) or fields)
    config = fields_of(first_of(fields, ("functionCallingConfig", "function_calling_config")))
    if config is not None or "mode" in fields:
        return _parse_config(config if config is not None else fields)
    kind = text_of(fields.get("type"))
    if kind.lower() in _MODES:
        return ToolChoice(_MODES[kind.lower()])
    function = fields_of(fields.get("function")) or fields
    name = text_of(function.get("name"))
    return ToolChoice(ChoiceMode.NAMED, (name,)) if name and kind in _KINDS else None


def refuse_two_choices(raw: Json, at: str) -> None:
    """Raise MalformedRequest if a choice leaves it to the model, or forbids tools, and names one all the same."""
    fields = fields_of(raw) or {}
    kind = text_of(fields.get("type"))
    name = text_of((fields_of(fields.get("function")) or fields).get("name"))
    if kind.lower() in _MODES and name:
        message = f'a tool choice that may be "{kind}" or the tool "{name}"'
        raise MalformedRequest(message, at=at, hint="send one of the two")


def _parse_word(word: str) -> ToolChoice:
    """A mode or the name of a tool. No word leaves it to the model, as no choice does."""
    mode = _MODES.get(word.lower()) if word else ChoiceMode.AUTO
    return ToolChoice(mode) if mode is not None else ToolChoice(ChoiceMode.NAMED, (word,))


def _parse_allowance(fields: Fields) -> ToolChoice | None:
    """OpenAI's form. Chat has it in a member of its own."""
    entries = [fields_of(item) or {} for item in items_of(fields.get("tools")) or []]
    named = [fields_of(first_of(entry, ("function", "custom"))) or entry for entry in entries]
    names = tuple([name for one in named if (name := text_of(one.get("name")))])
    mode = _MODES.get(text_of(fields.get("mode")).lower())
    return ToolChoice(ChoiceMode.ALLOWED, names, mode is ChoiceMode.REQUIRED) if names else None


def _parse_config(fields: Fields) -> ToolChoice | None:
    """Gemini's form."""
    mode = _MODES.get(text_of(fields.get("mode")).lower())
    listed = items_of(first_of(fields, ("allowedFunctionNames", "allowed_function_names"))) or []
    names = tuple([text_of(name) for name in listed if name[:1] == b'"'])
    if mode is ChoiceMode.NONE:
        return ToolChoice(mode)
    if mode is ChoiceMode.REQUIRED and len(names) == 1:
        return ToolChoice(ChoiceMode.NAMED, names)
    if names:
        return ToolChoice(ChoiceMode.ALLOWED, names, mode is ChoiceMode.REQUIRED)
    return ToolChoice(mode) if mode is not None else None
