"""Whole conversations, compiled for the facts that were found, and rendered: do the facts suffice?

Trials look at one thing at a time. Templates count, look back and compare, so that what is fine alone may fail beside
something else. If a rehearsed conversation fails or loses words, the correction with the least loss that helps most
is added to the facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.engine.library.adapt import BUILTIN, adapt
from dragoman.errors import RequestError
from dragoman.probe.questions_by_dialect.question_kinds import REFUSES
from dragoman.probe.template.prompts import PromptMaker
from dragoman.probe.template.rehearsed_conversations import Rehearsed, rehearse
from dragoman.probe.template.renderer import Rendering
from dragoman.profiles.profile import Profile, Profiles, merge

_NAME = "probed"
_LIKE = "openai-compatible-lenient"
_MOST_ROUNDS = 8
_MOST_TRIED = 80
"""So many failures are enough to choose a correction by."""


class Correction(msgspec.Struct, frozen=True):
    """Facts that may help if conversations fail."""

    name: str
    about: str
    facts: Mapping[str, Any]
    heavy: bool = False
    """Whether it is tried only if no other helps any more, since the structure of calls or the tools are lost."""
    cause: Rendering = Rendering()
    """The failure that it was chosen for."""


def _refuses(names: str, **more: Any) -> dict[str, Any]:
    return {**dict.fromkeys(names.split(), REFUSES), **more}


_UNPAIRED = "orphan_result missing_result late_result repeated_result calls_apart duplicate_ids duplicate_ids_in_turn"
_NOT_ALTERNATING = _refuses("repeated_roles user_after_tool", first_turn="user")
_LATE_SYSTEM = _refuses("late_system", system_place="opening")
CORRECTIONS = (
    Correction("results", "calls and results that do not match", _refuses(f"{_UNPAIRED} result_order")),
    Correction("no-content", "messages without content", _refuses("no_parts no_user_parts")),
    Correction("null-content", "turns of nothing but calls", {"call_content": "null"}),
    Correction("empty-content", "turns of nothing but calls", {"call_content": "empty"}),
    Correction(
        "lists",
        "texts in a list of parts",
        _refuses("list_content several_texts system_parts cache_hints part_fields"),
    ),
    Correction("developer", "the role `developer`", _refuses("developer_role")),
    Correction("many-systems", "several system messages", {"system_count": "one"}),
    Correction("late-system", "a system message after the first turn", _LATE_SYSTEM),
    Correction("repeated-roles", "two turns of one role", _refuses("repeated_roles")),
    Correction("first-turn", "a conversation that the assistant opens", {"first_turn": "user"}),
    Correction("system-only", "nothing but system messages", _refuses("system_only")),
    Correction("user-after-tool", "a user turn right after results", _refuses("user_after_tool")),
    Correction("last-turn", "a turn of the assistant at the end", {"last_turn": "user"}),
    Correction("undeclared-tools", "calls without declared tools", _refuses("undeclared_tools")),
    Correction("no-description", "tools without a description", _refuses("tools_without_description")),
    Correction("no-schema", "tools without a schema", _refuses("tools_without_schema")),
    Correction("schemas", "rich schemas of tools", {"schema_form": "documented"}),
    Correction("empty-texts", "empty texts", _refuses("empty_user empty_assistant empty_system blank_text")),
    Correction("parallel-calls", "several calls in one turn", _refuses("parallel_calls")),
    Correction("words-beside-calls", "words and calls in one turn", _refuses("text_beside_calls")),
    Correction("call-ids", "ids of calls", _refuses("odd_call_id", call_id_pattern="[a-zA-Z0-9]{9}", call_id_length=9)),
    Correction("reasoning", "thinking sent back", _refuses("reasoning_text")),
    Correction(
        "alternation", "turns that do not alternate", {**_NOT_ALTERNATING, **_LATE_SYSTEM, "system_count": "one"}
    ),
    Correction("images", "images", {"media": {"image": _refuses("inline url")}}),
    Correction("no-system", "system messages", {"system_count": "none"}),
    Correction(
        "no-system-alternation",
        "system messages and turns that do not alternate",
        {**_NOT_ALTERNATING, "system_count": "none"},
    ),
    Correction("calls", "calls and results", {"flat_tools": True}, heavy=True),
    Correction(
        "flat-alternation",
        "calls, and turns that do not alternate",
        _refuses("repeated_roles", flat_tools=True, first_turn="user"),
        heavy=True,
    ),
    Correction("tools", "tools", _refuses("tools"), heavy=True),
    Correction("flat-tools", "tools and calls", _refuses("tools", flat_tools=True), heavy=True),
)
"""By what they lose: the least first."""


class Failing(msgspec.Struct, frozen=True):
    """A conversation that fails."""

    conversation: Rehearsed
    rendering: Rendering
    """How; it may render and lose words."""


class Rehearsal:
    """Corrects facts until every rehearsed conversation renders with all its words, or nothing helps any more."""

    def __init__(self, prompts: PromptMaker, facts: Mapping[str, Any]) -> None:
        self._prompts = prompts
        self._facts = dict(facts)
        self.unsolved: tuple[str, ...] = ()

    def correct(self) -> Iterator[Correction]:
        """The corrections that are needed, one after the other."""
        failing = self._failing(self._facts, rehearse())
        for _ in range(_MOST_ROUNDS):
            if not failing or self._prompts.ended:
                break
            found = self._best(failing)
            if found is None:
                break
            correction, _ = found
            if self._prompts.ended:
                break
            self._facts = merge(self._facts, correction.facts)
            yield replace(correction, cause=failing[0].rendering)
            failing = self._failing(self._facts, rehearse())
        self.unsolved = tuple(dict.fromkeys(f"{one.conversation.name}: {one.rendering.says}" for one in failing))

    def _best(self, failing: list[Failing]) -> tuple[Correction, int] | None:
        """The correction after which the fewest of these fail."""
        light = [one for one in CORRECTIONS if not one.heavy]
        return self._best_of(light, failing) or self._best_of([one for one in CORRECTIONS if one.heavy], failing)

    def _best_of(self, corrections: list[Correction], failing: list[Failing]) -> tuple[Correction, int] | None:
        asked = [one.conversation for one in failing[:_MOST_TRIED]]
        best: tuple[Correction, int] | None = None
        for correction in corrections:
            facts = merge(self._facts, correction.facts)
            if facts == self._facts:
                continue
            left = len(self._failing(facts, asked))
            if left < (len(asked) if best is None else best[1]):
                best = (correction, left)
                if left == 0:
                    break
        return best

    def _failing(self, facts: Mapping[str, Any], conversations: list[Rehearsed]) -> list[Failing]:
        profiles = profiles_with(facts)
        found: list[Failing] = []
        for one in conversations:
            if self._prompts.ended:
                break
            rendering = self._render(one, profiles)
            if rendering is not None:
                found.append(Failing(one, rendering))
        return found

    def _render(self, one: Rehearsed, profiles: Profiles) -> Rendering | None:
        """The failure of a conversation, or None."""
        try:
            sent = adapt(one.body, source=DEFAULT_DIALECT, target=f"{_NAME}/model", profiles=profiles).json
        except RequestError:
            return None
        rendering = self._prompts.make(sent)
        if not rendering.ok:
            return rendering
        written = msgspec.json.encode(sent["messages"]).decode()
        lost = [word for word in one.words if word in written and word not in (rendering.prompt or "")]
        return Rendering(fault=f"the template leaves out {lost[0]}") if lost else None


def profiles_with(facts: Mapping[str, Any]) -> Profiles:
    """The built-in profiles, and one of these facts."""
    return BUILTIN.extended({_NAME: Profile(like=_LIKE, name=_NAME, facts=dict(facts))})
