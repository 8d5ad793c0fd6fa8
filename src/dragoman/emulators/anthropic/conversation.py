"""Checks across messages: roles and their order, empty turns, calls and their results, prefill.

The service treats neighbouring messages of one role as one turn, so most checks go through turns and report the index
of a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dragoman.emulators.anthropic.blocks import SERVER_BLOCKS, SERVER_RESULTS
from dragoman.emulators.anthropic.models import ClaudeModel
from dragoman.emulators.anthropic.refusals import AnthropicRefusal
from dragoman.emulators.signatures import is_masked

Block = dict[str, Any]
Message = dict[str, Any]
_DIRECTIVE = "; the directive-only form (content: [] with output_config) is accepted at any position"
_ASSISTANT_ONLY = ("tool_use", "thinking", "redacted_thinking")
_USER_ONLY = ("tool_result", "image", "search_result", "container_upload")


@dataclass(frozen=True, slots=True)
class ClaudeTurn:
    """Neighbouring messages of one role, and their blocks, each with message index and block index."""

    role: str
    first: int
    last: int
    blocks: tuple[tuple[int, int, Block], ...]

    def of(self, kind: str) -> list[tuple[int, int, Block]]:
        return [placed for placed in self.blocks if placed[2]["type"] == kind]


def blocks_of(message: Message) -> list[Block]:
    """The content as blocks. An empty string gives none."""
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def turns_of(messages: list[Message]) -> list[ClaudeTurn]:
    """The turns of a conversation."""
    turns = []
    for role, group in groupby(enumerate(messages), key=lambda pair: pair[1]["role"]):
        members = list(group)
        placed = tuple((i, j, block) for i, message in members for j, block in enumerate(blocks_of(message)))
        turns.append(ClaudeTurn(role, members[0][0], members[-1][0], placed))
    return turns


def check_conversation(messages: list[Message], model: ClaudeModel) -> None:
    """All checks, in the order in which the service reports their errors."""
    turns = turns_of(messages)
    _check_systems(messages, turns, model)
    _check_empty(messages, turns, model)
    for turn in turns:
        _check_roles(turn)
    if not model.is_legacy:
        _check_pairs(turns)
    _check_server_results(turns)
    _check_ending(messages, turns, model)


def _check_systems(messages: list[Message], turns: list[ClaudeTurn], model: ClaudeModel) -> None:
    for position, turn in enumerate(turns):
        if turn.role != "system" or _is_directive(messages, turn):
            continue
        if turn.first == 0:
            raise AnthropicRefusal(
                f"messages.0: use the top-level 'system' parameter for the initial system prompt{_DIRECTIVE}"
            )
        if model.before(4, 8):
            raise AnthropicRefusal("role 'system' is not supported on this model")
        _check_place(turns, position)
        _check_system_content(messages, turn)


def _is_directive(messages: list[Message], turn: ClaudeTurn) -> bool:
    return all(
        messages[i].get("content", []) == [] and messages[i].get("output_config")
        for i in range(turn.first, turn.last + 1)
    )


def _check_place(turns: list[ClaudeTurn], position: int) -> None:
    turn, before = turns[position], turns[position - 1]
    after_server = before.blocks and before.blocks[-1][2]["type"] in SERVER_RESULTS
    if before.role != "user" and not after_server:
        raise AnthropicRefusal(
            f"messages.{turn.last}: role 'system' must follow a 'user' message or an 'assistant' message ending in a "
            f"server tool result{_DIRECTIVE}"
        )
    if position + 1 < len(turns) and turns[position + 1].role != "assistant":
        raise AnthropicRefusal(
            f"messages.{turn.last}: role 'system' must precede an 'assistant' message or end the array{_DIRECTIVE}"
        )


def _check_system_content(messages: list[Message], turn: ClaudeTurn) -> None:
    for index in range(turn.first, turn.last + 1):
        blocks = blocks_of(messages[index])
        if not blocks:
            raise AnthropicRefusal(f"messages.{index}: system content must contain at least one block")
        if any(block["type"] not in ("text", "tool_addition", "tool_removal") for block in blocks):
            raise AnthropicRefusal(
                f"messages.{index}: role 'system' supports text, tool_addition, and tool_removal blocks only"
            )
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            raise AnthropicRefusal(f"messages.{index}: system text blocks must contain non-whitespace text")


def _check_empty(messages: list[Message], turns: list[ClaudeTurn], model: ClaudeModel) -> None:
    for turn in turns:
        if turn.role == "system":
            continue
        if not turn.blocks and _may_not_be_empty(turn, len(messages), model):
            raise AnthropicRefusal(f"messages.{turn.first}: {_empty_sentence(model)}")
        if any(not block["text"] for _, _, block in turn.of("text")):
            raise AnthropicRefusal("messages: text content blocks must be non-empty")
        if turn.blocks and all(block["type"] == "text" and not block["text"].strip() for _, _, block in turn.blocks):
            raise AnthropicRefusal("messages: text content blocks must contain non-whitespace text")


def _may_not_be_empty(turn: ClaudeTurn, count: int, model: ClaudeModel) -> bool:
    if turn.role == "user":
        return True
    return model.before(4, 8) and turn.last != count - 1


def _empty_sentence(model: ClaudeModel) -> str:
    if model.before(4, 8):
        return "all messages must have non-empty content except for the optional final assistant message"
    return "user messages must have non-empty content"


def _check_roles(turn: ClaudeTurn) -> None:
    for i, j, block in turn.blocks:
        kind = block["type"]
        if turn.role == "user" and kind in _ASSISTANT_ONLY:
            raise AnthropicRefusal(f"messages.{i}.content.{j}: `{kind}` blocks can only be in `assistant` messages")
        if turn.role == "assistant" and kind == "tool_result":
            raise AnthropicRefusal(f"messages.{i}.content.{j}: `tool_result` blocks can only be in `user` messages")
        if turn.role == "assistant" and kind in _USER_ONLY:
            raise AnthropicRefusal(
                f"messages.{i}.content.{j}: '{kind}' blocks are not permitted within assistant turns"
            )


STRICTER_SINCE = "2026-10-21"


def check_version(messages: list[dict[str, Any]]) -> None:
    """What the version of October 2026 refuses in turns (Anthropic's migration page). Its words are not known."""
    for i, message in enumerate(messages):
        for j, block in enumerate(blocks_of(message)):
            at = f"messages.{i}.content.{j}"
            if message["role"] == "assistant" and block["type"] == "document":
                raise AnthropicRefusal(f"{at}: 'document' blocks are not permitted within assistant turns")
            if message["role"] == "user" and block["type"] == "text" and block.get("citations"):
                raise AnthropicRefusal(f"{at}.citations: Extra inputs are not permitted")


def _check_pairs(turns: list[ClaudeTurn]) -> None:
    for position, turn in enumerate(turns):
        if turn.role == "assistant":
            _check_answered(turn, turns[position + 1] if position + 1 < len(turns) else None)
        elif turn.role == "user":
            _check_results(turn, turns[position - 1] if position else None)


def _check_answered(turn: ClaudeTurn, following: ClaudeTurn | None) -> None:
    calls: dict[str, None] = {}
    for i, j, block in turn.of("tool_use"):
        if block["id"] in calls:
            raise AnthropicRefusal(f"messages.{i}.content.{j}: `tool_use` ids must be unique")
        calls[block["id"]] = None
    answered = set(_leading_results(following)) if following and following.role == "user" else set()
    answered -= set(_calls_before_texts(turn))
    missing = [call for call in calls if call not in answered]
    if missing:
        raise AnthropicRefusal(
            f"messages.{turn.last + 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )


def _calls_before_texts(turn: ClaudeTurn) -> list[str]:
    """The ids of the calls that a text of their turn follows. Their results do not count (recorded in May 2026)."""
    last = max((at for at, (_, _, block) in enumerate(turn.blocks) if block["type"] == "text"), default=0)
    return [block["id"] for _, _, block in turn.blocks[:last] if block["type"] == "tool_use"]


def _leading_results(turn: ClaudeTurn) -> Iterator[str]:
    """The ids of the results at the start of a turn. Results after other content do not count."""
    for _, _, block in turn.blocks:
        if block["type"] != "tool_result":
            return
        yield block["tool_use_id"]


def _check_results(turn: ClaudeTurn, before: ClaudeTurn | None) -> None:
    calls = {block["id"] for _, _, block in before.of("tool_use")} if before and before.role == "assistant" else set()
    seen: set[str] = set()
    for i, j, block in turn.of("tool_result"):
        call_id = block["tool_use_id"]
        if call_id not in calls:
            raise AnthropicRefusal(
                f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if call_id in seen:
            raise AnthropicRefusal(
                f"messages.{i}.content.{j}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {call_id}"
            )
        seen.add(call_id)
        content = block.get("content")
        if block.get("is_error") and isinstance(content, list) and any(one["type"] != "text" for one in content):
            raise AnthropicRefusal(
                f"messages.{i}.content.{j}.tool_result: all content must be type `text` if `is_error` is true"
            )


def _check_server_results(turns: list[ClaudeTurn]) -> None:
    """The result of a server tool comes after its call, in the same turn or a later one."""
    calls = {"server_tool_use": set[str](), "mcp_tool_use": set[str]()}
    for i, j, block in (placed for turn in turns for placed in turn.blocks):
        kind = block["type"]
        if kind in calls:
            calls[kind].add(str(block["id"]))
        elif kind in SERVER_RESULTS and not is_masked(block["tool_use_id"]):
            call_kind = "mcp_tool_use" if kind == "mcp_tool_result" else "server_tool_use"
            if str(block["tool_use_id"]) not in calls[call_kind]:
                raise AnthropicRefusal(
                    f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `{kind}` blocks: "
                    f"{block['tool_use_id']}. Each `{kind}` block must have a corresponding `{call_kind}` block"
                    " before it."
                )


def _check_ending(messages: list[Message], turns: list[ClaudeTurn], model: ClaudeModel) -> None:
    last = turns[-1]
    if last.role != "assistant" or not blocks_of(messages[-1]):
        return
    final = last.blocks[-1][2]
    if final["type"] == "text" and final["text"] != final["text"].rstrip():
        raise AnthropicRefusal("messages: final assistant content cannot end with trailing whitespace")
    if model.since(4, 6) and final["type"] not in SERVER_BLOCKS:
        raise AnthropicRefusal(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
