"""Tools that a vendor's models know and the client runs, as functions with the schema that the vendor has published.

A declaration of such a tool is a type alone, since the vendor's models know the rest. Every other model must be told.
Sources: the types of openai 3.49.0 and anthropic 2.8.0, and the vendors' guides to these tools, 2026-11-16.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import CacheHint, Json
from dragoman.conversation.tools import CallForm, Tool
from dragoman.dialects.shared.raw_json import encode, text_of
from dragoman.wire.json_reader import split_members

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_SECONDS: Schema = {"type": "number", "description": "Seconds."}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_POINT: Schema = {"type": "array", "items": _NUMBER, "description": "[x, y] in pixels of the screen."}
_REGION: Schema = {"type": "array", "items": _NUMBER, "description": "[x0, y0, x1, y1] in pixels of the screen."}
_DIRECTION: Schema = {"type": "string", "enum": ["up", "down", "left", "right"]}
_REFERENCE: Schema = {
    "type": "object",
    "properties": {"type": {"type": "string", "enum": ["ref"]}, "ref": _TEXT},
    "required": ["type", "ref"],
}
_PLACE: Schema = {
    "type": "object",
    "properties": {"type": {"type": "string", "enum": ["coordinate"]}, "x": _NUMBER, "y": _NUMBER},
    "required": ["type", "x", "y"],
}
_TARGET: Schema = {
    "type": "object",
    "description": 'A point {"type": "coordinate", "x", "y"} in pixels, or an element {"type": "ref", "ref"}.',
    "properties": {
        "type": {"type": "string", "enum": ["coordinate", "ref"]},
        "x": _NUMBER,
        "y": _NUMBER,
        "ref": _TEXT,
    },
    "required": ["type"],
}


def _one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _object(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    schema: Schema = {"type": "object", "properties": {**required, **(optional or {})}}
    return {**schema, "required": list(required)} if required else schema


class PublishedTool(msgspec.Struct, frozen=True):
    """One tool, as a function."""

    name: str
    """The function's name, if the declaration has none."""
    description: str
    schema: Schema
    item: bool = False
    """Its calls and results are items of their own, not those of a function."""
    size: tuple[str, str] = ("", "")
    """The members of the declaration that say how wide and how high the screen is."""


class PublishedSet(msgspec.Struct, frozen=True):
    """Several tools that one entry declares. A call names the set beside the tool."""

    name: str
    members: Mapping[str, PublishedTool]


# Anthropic


_VIEWED: dict[str, Schema] = {
    "view_range": {
        "type": "array",
        "items": _NUMBER,
        "description": "For `view` of a file: [first line, last line], from 1; -1 as the last means the end.",
    },
    "file_text": {"type": "string", "description": "For `create`: the content of the file."},
    "old_str": {"type": "string", "description": "For `str_replace`: the exact text to replace, found once."},
    "new_str": {"type": "string", "description": "For `str_replace`: the new text; left out, the old one is deleted."},
    "insert_line": {"type": "integer", "description": "For `insert`: after this line; 0 is the top of the file."},
    "insert_text": {"type": "string", "description": "For `insert`: the text."},
}
_EDITS = ("view", "create", "str_replace", "insert")
_PATH: Schema = {"type": "string", "description": "Absolute path of a file or directory."}


def _editor(*commands: str) -> PublishedTool:
    return PublishedTool(
        "str_replace_based_edit_tool",
        "View, create and edit files. `view` shows a file with line numbers, or lists a directory.",
        _object({"command": _one_of(*commands), "path": _PATH}, _VIEWED),
    )


_BASH = PublishedTool(
    "bash",
    "Run a command in a bash session that keeps its state between calls. Give `command`, or `restart` alone.",
    _object(
        {},
        {
            "command": {"type": "string", "description": "The command to run."},
            "restart": {"type": "boolean", "description": "True restarts the session."},
        },
    ),
)
_MEMORY = PublishedTool(
    "memory",
    "Keep notes in files under /memories that outlive this conversation. Look there before you begin a task.",
    _object(
        {"command": _one_of(*_EDITS, "delete", "rename")},
        {
            "path": {"type": "string", "description": "Path under /memories; for all commands but `rename`."},
            **_VIEWED,
            "old_path": {"type": "string", "description": "For `rename`."},
            "new_path": {"type": "string", "description": "For `rename`."},
        },
    ),
)
_OLD_ACTIONS = (
    *("key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click", "double_click"),
    *("screenshot", "cursor_position"),
)
_ACTIONS = (*_OLD_ACTIONS, "left_mouse_down", "left_mouse_up", "scroll", "hold_key", "wait", "triple_click")


def _computer(*actions: str) -> PublishedTool:
    return PublishedTool(
        "computer",
        "Use a mouse and a keyboard on a computer's screen, and take screenshots.",
        _object(
            {"action": _one_of(*actions)},
            {
                "coordinate": _POINT,
                "start_coordinate": {**_POINT, "description": "For `left_click_drag`: where it begins, [x, y]."},
                "text": {
                    "type": "string",
                    "description": "For `type`: the text. For `key` and `hold_key`: keys such as ctrl+s. For clicks "
                    "and `scroll`: keys that are held.",
                },
                "scroll_direction": _DIRECTION,
                "scroll_amount": _NUMBER,
                "duration": {"type": "number", "description": "For `hold_key` and `wait`: seconds."},
                "region": {**_REGION, "description": "For `zoom`: [x0, y0, x1, y1] in pixels."},
            },
        ),
        size=("display_width_px", "display_height_px"),
    )


def _members(table: Mapping[str, tuple[str, dict[str, Schema], dict[str, Schema]]]) -> Mapping[str, PublishedTool]:
    return {name: PublishedTool(name, words, _object(needs, may)) for name, (words, needs, may) in table.items()}


_HELD: dict[str, Schema] = {
    "coordinate": _POINT,
    "text": {"type": "string", "description": "Keys that are held, such as ctrl."},
}
_COMPUTER_SET = PublishedSet(
    "computer",
    _members(
        {
            "key": ("Press a key or keys such as ctrl+s.", {"text": _TEXT}, {"repeat": _NUMBER}),
            "hold_key": ("Hold a key or keys for some seconds.", {"duration": _NUMBER, "text": _TEXT}, {}),
            "type": ("Type a text.", {"text": _TEXT}, {}),
            "cursor_position": ("Get the cursor's [x, y] in pixels.", {}, {}),
            "mouse_move": ("Move the cursor without a click.", {"coordinate": _POINT}, {}),
            "left_mouse_down": ("Press the left mouse button where the cursor is, and hold it.", {}, {}),
            "left_mouse_up": ("Release the left mouse button.", {}, {}),
            "left_click": ("Click with the left mouse button.", {}, _HELD),
            "left_click_drag": (
                "Drag with the left mouse button from `start_coordinate` to `coordinate`.",
                {"coordinate": _POINT, "start_coordinate": _POINT},
                {"text": _HELD["text"]},
            ),
            "right_click": ("Click with the right mouse button.", {}, _HELD),
            "middle_click": ("Click with the middle mouse button.", {}, _HELD),
            "double_click": ("Double-click with the left mouse button.", {}, _HELD),
            "triple_click": ("Triple-click with the left mouse button.", {}, _HELD),
            "scroll": (
                "Scroll the screen at a point, or at the cursor.",
                {"scroll_amount": _NUMBER, "scroll_direction": _DIRECTION},
                _HELD,
            ),
            "wait": ("Wait for some seconds.", {"duration": _NUMBER}, {}),
            "screenshot": ("Take a screenshot of the screen.", {}, {}),
            "zoom": ("Take a screenshot of a region, enlarged.", {"region": _REGION}, {}),
        }
    ),
)
_TAB: dict[str, Schema] = {"tab_id": _TEXT}
_BROWSER_SET = PublishedSet(
    "browser",
    _members(
        {
            "navigate": ("Go to a URL, or back, forward or reload.", {"url": _TEXT}, _TAB),
            "list_tabs": ("List all open tabs with their tab_id, title and URL.", {}, {}),
            "new_tab": ("Open an empty tab and return its tab_id.", {}, {}),
            "switch_tab": ("Make a tab the active one.", _TAB, {}),
            "close_tab": ("Close a tab.", _TAB, {}),
            "read_page": (
                "Return the accessibility tree of the page with references to its elements.",
                {},
                {"depth": _NUMBER, "filter": _one_of("all", "interactive"), "ref": _TEXT, **_TAB},
            ),
            "get_page_text": ("Return the visible text of the page.", {}, _TAB),
            "read_console": ("Return the console's output since the last read.", {}, _TAB),
            "read_network": ("Return the network requests since the last read.", {}, _TAB),
            "find": ("Find elements by a description; up to 20 references.", {"query": _TEXT}, _TAB),
            "form_input": (
                "Set the value of a form element: true or false for a checkbox, an option for a select.",
                {"target": _REFERENCE, "value": {"type": ["string", "number", "boolean"]}},
                _TAB,
            ),
            "file_upload": (
                "Set the files of a file input. Give `paths` or `document_ids`.",
                {"target": _REFERENCE},
                {"paths": _TEXTS, "document_ids": _TEXTS, **_TAB},
            ),
            "scroll_to": ("Scroll an element into view.", {"target": _REFERENCE}, _TAB),
            "screenshot": ("Take a screenshot of the viewport.", {}, _TAB),
            "zoom": ("Take a screenshot of a region of the viewport, enlarged.", {"region": _REGION}, _TAB),
            "left_click": ("Click with the left mouse button.", {"target": _TARGET}, {"text": _TEXT, **_TAB}),
            "right_click": ("Click with the right mouse button.", {"target": _TARGET}, {"text": _TEXT, **_TAB}),
            "middle_click": ("Click with the middle mouse button.", {"target": _TARGET}, {"text": _TEXT, **_TAB}),
            "double_click": ("Double-click.", {"target": _TARGET}, {"text": _TEXT, **_TAB}),
            "triple_click": ("Triple-click.", {"target": _TARGET}, {"text": _TEXT, **_TAB}),
            "hover": ("Move the pointer over a target.", {"target": _TARGET}, _TAB),
            "left_click_drag": ("Press at `from`, drag to `target`.", {"from": _PLACE, "target": _PLACE}, _TAB),
            "left_mouse_down": ("Press the left mouse button and hold it.", {"target": _PLACE}, _TAB),
            "left_mouse_up": ("Release the left mouse button.", {"target": _PLACE}, _TAB),
            "mouse_move": ("Move the pointer without a click.", {"target": _PLACE}, _TAB),
            "scroll": (
                "Scroll at a point of the viewport.",
                {"scroll_direction": _DIRECTION, "target": _PLACE},
                {"scroll_amount": _NUMBER, **_TAB},
            ),
            "type": ("Type a text at the focus.", {"text": _TEXT}, _TAB),
            "key": ("Press keys such as ctrl+a; a space parts presses.", {"text": _TEXT}, {"repeat": _NUMBER, **_TAB}),
            "hold_key": ("Hold keys for some seconds.", {"duration": _SECONDS, "text": _TEXT}, _TAB),
            "wait": ("Wait.", {"duration": _SECONDS}, _TAB),
            "javascript_exec": (
                "Run JavaScript in the page; the last expression is the result.",
                {"text": _TEXT},
                _TAB,
            ),
        }
    ),
)

# OpenAI


_SHELL = PublishedTool(
    "shell",
    "Run shell commands and get their output.",
    _object(
        {"commands": {**_TEXTS, "description": "The commands, run one after the other."}},
        {
            "timeout_ms": {"type": "integer", "description": "When to stop the commands, in milliseconds."},
            "max_output_length": {"type": "integer", "description": "How many characters of output are returned."},
        },
    ),
    item=True,
)
_LOCAL_SHELL = PublishedTool(
    "local_shell",
    "Run a command on the user's machine and get its output.",
    _object(
        {"command": {**_TEXTS, "description": "The program and its arguments."}},
        {
            "env": {"type": "object", "additionalProperties": _TEXT, "description": "Environment variables."},
            "working_directory": _TEXT,
            "timeout_ms": _NUMBER,
            "user": _TEXT,
        },
    ),
    item=True,
)
_APPLY_PATCH = PublishedTool(
    "apply_patch",
    "Create, update or delete one file. The diff of `create_file` is the whole file with `+` before every line. The "
    "diff of `update_file` has one or more hunks in V4A form: a line that begins with `@@` and may name a class or "
    "function to find the place, then context lines with a space, removed lines with `-` and added lines with `+` "
    "before them; no line numbers, about three lines of context.",
    _object(
        {"type": _one_of("create_file", "update_file", "delete_file"), "path": _TEXT},
        {"diff": {"type": "string", "description": "For `create_file` and `update_file`."}},
    ),
    item=True,
)
_STEP = _object(
    {
        "type": _one_of(
            *("click", "double_click", "drag", "keypress", "move", "screenshot", "scroll", "type", "wait"),
        )
    },
    {
        "x": _NUMBER,
        "y": _NUMBER,
        "button": {**_one_of("left", "right", "wheel", "back", "forward"), "description": "For `click`."},
        "path": {
            "type": "array",
            "items": _object({"x": _NUMBER, "y": _NUMBER}),
            "description": "For `drag`: the points on its way.",
        },
        "keys": {**_TEXTS, "description": "For `keypress`: the keys; for other actions: keys that are held."},
        "scroll_x": {"type": "integer", "description": "For `scroll`: how far, in pixels."},
        "scroll_y": {"type": "integer", "description": "For `scroll`: how far, in pixels."},
        "text": {"type": "string", "description": "For `type`."},
    },
)
_SCREEN = "Use a mouse and a keyboard on a computer's screen. The result is a screenshot."
_COMPUTER = PublishedTool(
    "computer",
    _SCREEN,
    _object({"actions": {"type": "array", "items": _STEP, "description": "What to do, in order."}}),
    item=True,
)
_COMPUTER_PREVIEW = PublishedTool(
    "computer", _SCREEN, _object({"action": _STEP}), item=True, size=("display_width", "display_height")
)

PUBLISHED: Mapping[str, PublishedTool | PublishedSet] = {
    "bash_*": _BASH,
    "text_editor_20241022": _editor(*_EDITS, "undo_edit"),
    "text_editor_20250124": _editor(*_EDITS, "undo_edit"),
    "text_editor_*": _editor(*_EDITS),
    "memory_*": _MEMORY,
    "computer_20241022": _computer(*_OLD_ACTIONS),
    "computer_20250124": _computer(*_ACTIONS),
    "computer_toolset_*": _COMPUTER_SET,
    "browser_toolset_*": _BROWSER_SET,
    "computer_use_preview": _COMPUTER_PREVIEW,
    "computer_2*": _computer(*_ACTIONS, "zoom"),
    "computer": _COMPUTER,
    "shell": _SHELL,
    "local_shell": _LOCAL_SHELL,
    "apply_patch": _APPLY_PATCH,
    "tool_search_tool_*": PublishedSet("tool_search", {}),
}
"""The tools by the type that declares them. The first glob that fits counts: dated versions stand before others. A
search among declared tools is no function: other targets see all tools at once."""

TOOLSET = "toolset_name"


@lru_cache(maxsize=64)
def find_published(kind: str) -> PublishedTool | PublishedSet | None:
    return next((tool for glob, tool in PUBLISHED.items() if fnmatchcase(kind, glob)), None)


def functions_of(kind: str, wire: Mapping[str, Json], at: int) -> tuple[Tool, ...] | None:
    """The functions that a declaration of this type means; None if the provider runs the tool, or nobody knows it."""
    found = find_published(kind) if len(kind) < _LONGEST else None
    if found is None or _runs_at_provider(wire):
        return None
    hint = wire.get("cache_control", b"")
    cached = CacheHint(hint) if hint[:1] == b"{" else None
    if isinstance(found, PublishedTool):
        named = wire.get("name", b"")
        name = unquote(named) if named[:1] == b'"' else found.name
        form = CallForm(name, kind if found.item else "")
        description = quote(found.description + _describe_screen(found, wire) + _describe_limit(wire))
        return (Tool(name, description, encode(found.schema), hint=cached, at=at, called=form),)
    off = _find_disabled(wire.get("configs", b"null"))
    tools = [_member(found, tool, at) for name, tool in found.members.items() if name not in off]
    return (*tools[:-1], replace(tools[-1], hint=cached)) if tools else ()


_LONGEST = 64


def _member(group: PublishedSet, tool: PublishedTool, at: int) -> Tool:
    form = CallForm(tool.name, fields={TOOLSET: quote(group.name)})
    return Tool(f"{group.name}__{tool.name}", quote(tool.description), encode(tool.schema), at=at, called=form)


def _runs_at_provider(wire: Mapping[str, Json]) -> bool:
    """Whether the commands run in a container of the provider's."""
    environment = wire.get("environment", b"null")
    if environment[:1] != b"{":
        return False
    return text_of(split_members(environment).get("type", b'"local"')) != "local"


def _describe_screen(tool: PublishedTool, wire: Mapping[str, Json]) -> str:
    wide, high = (wire.get(name, b"null").decode() for name in tool.size)
    return f" The screen is {wide} pixels wide and {high} high." if wide.isdigit() and high.isdigit() else ""


def _describe_limit(wire: Mapping[str, Json]) -> str:
    limit = wire.get("max_characters", b"null").decode()
    return f" A view shows at most {limit} characters." if limit.isdigit() else ""


def _find_disabled(configs: Json) -> set[str]:
    """The members of a set that the client turned off."""
    entries = split_members(configs) if configs[:1] == b"{" else {}
    objects = {name: bytes(one) for name, one in entries.items() if bytes(one)[:1] == b"{"}
    return {name for name, one in objects.items() if bytes(split_members(one).get("enabled", b"")) == b"false"}
