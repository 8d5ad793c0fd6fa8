"""What holds between messages: roles and places, empty turns, calls and their results, thinking, prefill.

Neighbours of one role are one turn to the service, so most rules look at turns and report the index of a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dragoman.emulators.anthropic.blocks import SERVER_BLOCKS, SERVER_RESULTS
from dragoman.emulators.anthropic.claude import Claude
from dragoman.emulators.anthropic.shape import Fault
from dragoman.emulators.signatures import is_masked

Block = dict[str, Any]
Message = dict[str, Any]
_DIRECTIVE = "; the directive-only form (content: [] with output_config) is accepted at any position"
_ASSISTANT_ONLY = ("tool_use", "thinking", "redacted_thinking")
_USER_ONLY = ("tool_result", "image", "document", "search_result", "container_upload")


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring messages of one role, and all their blocks with the place of each."""

    role: str
    first: int
    last: int
    blocks: tuple[tuple[int, int, Block], ...]

    def of(self, kind: str) -> list[tuple[int, int, Block]]:
        return [placed for placed in self.blocks if placed[2]["type"] == kind]


def blocks_of(message: Message) -> list[Block]:
    """The content as blocks; an empty string is no block at all."""
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def turns_of(messages: list[Message]) -> list[Turn]:
    """The conversation as turns."""
    turns = []
    for role, group in groupby(enumerate(messages), key=lambda pair: pair[1]["role"]):
        members = list(group)
        placed = tuple((i, j, block) for i, message in members for j, block in enumerate(blocks_of(message)))
        turns.append(Turn(role, members[0][0], members[-1][0], placed))
    return turns


def check_conversation(messages: list[Message], model: Claude) -> None:
    """All rules, in the order in which their faults are reported."""
    turns = turns_of(messages)
    _check_systems(messages, turns, model)
    _check_empty(messages, turns, model)
    for turn in turns:
        _check_roles(turn)
    if not model.is_legacy:
        _check_pairs(turns)
    _check_server_results(turns)
    _check_ending(messages, turns, model)


def _check_systems(messages: list[Message], turns: list[Turn], model: Claude) -> None:
    for position, turn in enumerate(turns):
        if turn.role != "system" or _is_directive(messages, turn):
            continue
        if turn.first == 0:
            raise Fault(f"messages.0: use the top-level 'system' parameter for the initial system prompt{_DIRECTIVE}")
        if model.before(4, 8):
            raise Fault("role 'system' is not supported on this model")
        _check_place(turns, position)
        _check_system_content(messages, turn)


def _is_directive(messages: list[Message], turn: Turn) -> bool:
    return all(
        messages[i].get("content", []) == [] and messages[i].get("output_config")
        for i in range(turn.first, turn.last + 1)
    )


def _check_place(turns: list[Turn], position: int) -> None:
    turn, before = turns[position], turns[position - 1]
    after_server = before.blocks and before.blocks[-1][2]["type"] in SERVER_RESULTS
    if before.role != "user" and not after_server:
        raise Fault(
            f"messages.{turn.last}: role 'system' must follow a 'user' message or an 'assistant' message ending in a "
            f"server tool result{_DIRECTIVE}"
        )
    if position + 1 < len(turns) and turns[position + 1].role != "assistant":
        raise Fault(
            f"messages.{turn.last}: role 'system' must precede an 'assistant' message or end the array{_DIRECTIVE}"
        )


def _check_system_content(messages: list[Message], turn: Turn) -> None:
    for index in range(turn.first, turn.last + 1):
        blocks = blocks_of(messages[index])
        if not blocks:
            raise Fault(f"messages.{index}: system content must contain at least one block")
        if any(block["type"] not in ("text", "tool_addition", "tool_removal") for block in blocks):
            raise Fault(f"messages.{index}: role 'system' supports text, tool_addition, and tool_removal blocks only")
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            raise Fault(f"messages.{index}: system text blocks must contain non-whitespace text")


def _check_empty(messages: list[Message], turns: list[Turn], model: Claude) -> None:
    for turn in turns:
        if turn.role == "system":
            continue
        if not turn.blocks and _may_not_be_empty(turn, len(messages), model):
            raise Fault(f"messages.{turn.first}: {_empty_sentence(model)}")
        if any(not block["text"] for _, _, block in turn.of("text")):
            raise Fault("messages: text content blocks must be non-empty")
        if turn.blocks and all(block["type"] == "text" and not block["text"].strip() for _, _, block in turn.blocks):
            raise Fault("messages: text content blocks must contain non-whitespace text")


def _may_not_be_empty(turn: Turn, count: int, model: Claude) -> bool:
    if turn.role == "user":
        return True
    return model.before(4, 8) and turn.last != count - 1


def _empty_sentence(model: Claude) -> str:
    if model.before(4, 8):
        return "all messages must have non-empty content except for the optional final assistant message"
    return "user messages must have non-empty content"


def _check_roles(turn: Turn) -> None:
    for i, j, block in turn.blocks:
        kind = block["type"]
        if turn.role == "user" and kind in _ASSISTANT_ONLY:
            raise Fault(f"messages.{i}.content.{j}: `{kind}` blocks can only be in `assistant` messages")
        if turn.role == "assistant" and kind == "tool_result":
            raise Fault(f"messages.{i}.content.{j}: `tool_result` blocks can only be in `user` messages")
        if turn.role == "assistant" and kind in _USER_ONLY:
            raise Fault(f"messages.{i}.content.{j}: '{kind}' blocks are not permitted within assistant turns")


def _check_pairs(turns: list[Turn]) -> None:
    for position, turn in enumerate(turns):
        if turn.role == "assistant":
            _check_answered(turn, turns[position + 1] if position + 1 < len(turns) else None)
        elif turn.role == "user":
            _check_results(turn, turns[position - 1] if position else None)


def _check_answered(turn: Turn, following: Turn | None) -> None:
    calls: dict[str, None] = {}
    for i, j, block in turn.of("tool_use"):
        if block["id"] in calls:
            raise Fault(f"messages.{i}.content.{j}: `tool_use` ids must be unique")
        calls[block["id"]] = None
    answered = set(_leading_results(following)) if following and following.role == "user" else set()
    missing = [call for call in calls if call not in answered]
    if missing:
        raise Fault(
            f"messages.{turn.last + 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )


def _leading_results(turn: Turn) -> Iterator[str]:
    """Results count only while nothing else has been said in the turn."""
    for _, _, block in turn.blocks:
        if block["type"] != "tool_result":
            return
        yield block["tool_use_id"]


def _check_results(turn: Turn, before: Turn | None) -> None:
    calls = {block["id"] for _, _, block in before.of("tool_use")} if before and before.role == "assistant" else set()
    seen: set[str] = set()
    for i, j, block in turn.of("tool_result"):
        call = block["tool_use_id"]
        if call not in calls:
            raise Fault(
                f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if call in seen:
            raise Fault(
                f"messages.{i}.content.{j}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {call}"
            )
        seen.add(call)


def _check_server_results(turns: list[Turn]) -> None:
    """What Anthropic's own tools found stands after the call that asked for it, in whichever turn."""
    asked = {"server_tool_use": set[str](), "mcp_tool_use": set[str]()}
    for i, j, block in (placed for turn in turns for placed in turn.blocks):
        kind = block["type"]
        if kind in asked:
            asked[kind].add(str(block["id"]))
        elif kind in SERVER_RESULTS and not is_masked(block["tool_use_id"]):
            wanted = "mcp_tool_use" if kind == "mcp_tool_result" else "server_tool_use"
            if str(block["tool_use_id"]) not in asked[wanted]:
                raise Fault(
                    f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `{kind}` blocks: "
                    f"{block['tool_use_id']}. Each `{kind}` block must have a corresponding `{wanted}` block before it."
                )


def _check_ending(messages: list[Message], turns: list[Turn], model: Claude) -> None:
    last = turns[-1]
    if last.role != "assistant" or not blocks_of(messages[-1]):
        return
    final = last.blocks[-1][2]
    if final["type"] == "text" and final["text"] != final["text"].rstrip():
        raise Fault("messages: final assistant content cannot end with trailing whitespace")
    if model.since(4, 6) and final["type"] not in SERVER_BLOCKS:
        raise Fault(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
