"""What the client itself chooses for a long history.

OpenAI Responses has `truncation`, Anthropic `context_management`. If the target takes the field, its provider does
the work. Otherwise we do the same to the request, and the report says so.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Extras, Json
from dragoman.engine.history.result_clearing import ClearPolicy
from dragoman.engine.history.trim_policy import MOST_TOKENS, TrimPolicy
from dragoman.profiles.facts import Facts
from dragoman.rules.rule import report_only
from dragoman.rules.top_level_fields import is_sent

TRUNCATION, MANAGEMENT = "truncation", "context_management"
_MOST_EDITS = 16


class HistoryChoice(msgspec.Struct, frozen=True):
    """What a client asks to be done with its history."""

    cut: bool | None = None
    """Whether the history may be cut; None: nothing was said."""
    clear: ClearPolicy | None = None
    """Which old results go."""
    undone: tuple[str, ...] = ()
    """The kinds of edits that we cannot do ourselves."""


class Truncation(StrEnum):
    """What the client wants if the window is too small."""

    AUTO = "auto"
    """Old turns leave."""
    DISABLED = "disabled"
    """The request is refused."""


class _Amount(msgspec.Struct, frozen=True):
    type: Literal["input_tokens", "tool_uses"]
    value: int


class _ClearToolUses(msgspec.Struct, frozen=True, tag="clear_tool_uses_20250919"):
    trigger: _Amount = _Amount("input_tokens", 100_000)
    keep: _Amount = _Amount("tool_uses", 3)
    clear_at_least: _Amount | None = None
    exclude_tools: list[str] | None = None
    clear_tool_inputs: bool | list[str] | None = None


class _ClearThinking(msgspec.Struct, frozen=True, tag="clear_thinking_20251015"):
    pass


class _CompactEdit(msgspec.Struct, frozen=True, tag="compact_20260112"):
    pass


class _Management(msgspec.Struct, frozen=True):
    edits: list[_ClearToolUses | _ClearThinking | _CompactEdit] = []


_management = msgspec.json.Decoder(_Management).decode
_truncation = msgspec.json.Decoder(Truncation).decode
NO_CHOICE = HistoryChoice()


def history_choice(conversation: Conversation) -> HistoryChoice:
    """What the client wants, as far as it can be read."""
    extras = conversation.extras
    if extras is None or (TRUNCATION not in extras.fields and MANAGEMENT not in extras.fields):
        return NO_CHOICE
    return _choice(extras.fields.get(TRUNCATION), extras.fields.get(MANAGEMENT))


def forbids_cuts(conversation: Conversation) -> bool:
    """Does the client want its history whole?"""
    return history_choice(conversation).cut is False


@remembered
def _choice(truncation: Json | None, management: Json | None) -> HistoryChoice:
    clear, undone = _edits(management) if management is not None else (None, ())
    return HistoryChoice(None if truncation is None else _may_cut(truncation), clear, undone)


def _may_cut(truncation: Json) -> bool | None:
    try:
        return _truncation(truncation) is Truncation.AUTO
    except msgspec.DecodeError:
        return None


def _edits(management: Json) -> tuple[ClearPolicy | None, tuple[str, ...]]:
    try:
        edits = _management(management).edits[:_MOST_EDITS]
    except msgspec.DecodeError:  # newer than this program
        return None, ()
    clear = next((edit for edit in edits if isinstance(edit, _ClearToolUses)), None)
    undone = [type(edit).__struct_config__.tag for edit in edits if not isinstance(edit, _ClearToolUses)]
    if clear is not None and clear.clear_tool_inputs:
        undone.append("clear_tool_inputs")
    return (None if clear is None else _clear_policy(clear)), tuple(map(str, undone))


def _clear_policy(edit: _ClearToolUses) -> ClearPolicy:
    in_tokens = edit.trigger.type == "input_tokens"
    at_least = edit.clear_at_least
    return ClearPolicy(
        above_tokens=_bound(edit.trigger) if in_tokens else None,
        above_uses=None if in_tokens else _bound(edit.trigger),
        keep=_bound(edit.keep),
        at_least=_bound(at_least) if at_least is not None else 0,
        spared=frozenset(edit.exclude_tools or ()),
    )


def _bound(amount: _Amount) -> int:
    """JSON allows numbers that no calculation can take."""
    return min(max(0, amount.value), MOST_TOKENS)


def choose_policy(
    configured: TrimPolicy | None, choice: HistoryChoice, facts: Facts, extras: Extras | None
) -> TrimPolicy | None:
    """How a history is trimmed: as configured, or to the window if the client wants it and the provider does not.

    A client that forbids cuts gets none.
    """
    if choice.cut is False:
        return None
    if configured is not None or not choice.cut or not facts.context_window or _goes_out(TRUNCATION, extras, facts):
        return configured
    return TrimPolicy(max_history_tokens=0, window=min(facts.context_window, MOST_TOKENS))


def clearing(choice: HistoryChoice, facts: Facts, extras: Extras | None) -> ClearPolicy | None:
    """Which results we clear ourselves: those that the client names if the provider does not do it."""
    return None if choice.clear is None or _goes_out(MANAGEMENT, extras, facts) else choice.clear


def fulfil_choice(conversation: Conversation, choice: HistoryChoice, facts: Facts, clears: bool) -> Rewrite:
    """The request without the fields that the target does not take and that we honour in its place."""
    extras = conversation.extras
    if extras is None:
        return Rewrite(conversation)
    notes: list[Note] = []
    if choice.cut is not None and _is_honoured(choice, facts, extras):
        done = "the history is trimmed here if it outgrows the window" if choice.cut else "the history is not trimmed"
        notes.append(Note(f"honoured {TRUNCATION}: {done}", key=TRUNCATION, before=extras.fields[TRUNCATION]))
    if clears:
        notes.append(_note_managed(choice, extras))
    if not notes:
        return Rewrite(conversation)
    gone = {note.key for note in notes}
    return Rewrite(replace(conversation, extras=extras.without(gone)), tuple(notes))


def _is_honoured(choice: HistoryChoice, facts: Facts, extras: Extras) -> bool:
    """A history can only be trimmed to a window that is known; leaving it whole is always possible."""
    return not _goes_out(TRUNCATION, extras, facts) and (not choice.cut or facts.context_window > 0)


def _note_managed(choice: HistoryChoice, extras: Extras) -> Note:
    before = extras.fields[MANAGEMENT]
    if not choice.undone:
        return Note(f"honoured {MANAGEMENT}: old results are cleared here", key=MANAGEMENT, before=before)
    did = f"honoured {MANAGEMENT} in part: old results are cleared here, without {', '.join(choice.undone)}"
    return Note(did, key=MANAGEMENT, loses=Loss.METADATA, before=before)


def _goes_out(name: str, extras: Extras | None, facts: Facts) -> bool:
    value = extras.fields.get(name) if extras is not None else None
    return extras is not None and value is not None and is_sent(name, value, extras.dialect, facts)


history_choice_rule = report_only("history-choice", Loss.NOTHING, "What the client wants done about a long history.")
"""The name under which a field is reported that we honour in the provider's place."""
