"""Items and declarations of tools that the client runs: shells, patches and screens, by the types of openai 3.49.0."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.native_api import FieldCheck, anything, nullable
from dragoman.emulators.openai_responses.field_checks import (
    array,
    integer,
    mapping,
    one_of,
    record,
    sized,
    table,
    tagged,
    text,
    typed,
)

_STATUS = nullable(one_of("in_progress", "completed", "incomplete"))
_texts = array(text, "an array of strings")


def _item(required: dict[str, FieldCheck], **optional: FieldCheck) -> FieldCheck:
    """An item with an id of its own and of its call."""
    usual: dict[str, FieldCheck] = {
        "type": anything,
        "id": nullable(text),
        "call_id": sized(1, 64),
        "status": _STATUS,
        "caller": nullable(mapping),
    }
    return record({**usual, **required, **optional}, required=tuple(required))


_point = record({"x": integer(), "y": integer()}, required=("x", "y"))


def _action(*required: str, **fields: FieldCheck) -> FieldCheck:
    return record({"type": anything, "keys": nullable(_texts), **fields}, required=required)


_computer_action = tagged(
    {
        "click": _action("x", "y", "button", x=integer(), y=integer(), button=text),
        "double_click": _action("x", "y", x=integer(), y=integer()),
        "drag": _action("path", path=array(_point)),
        "keypress": _action("keys"),
        "move": _action("x", "y", x=integer(), y=integer()),
        "screenshot": _action(),
        "scroll": _action(
            "x", "y", "scroll_x", "scroll_y", **dict.fromkeys(("x", "y", "scroll_x", "scroll_y"), integer())
        ),
        "type": _action("text", text=text),
        "wait": _action(),
    }
)
_operation = tagged(
    {
        "create_file": typed(path=text, diff=text),
        "update_file": typed(path=text, diff=text),
        "delete_file": typed(path=text),
    }
)
_outcome = tagged(
    {
        "exit": typed(exit_code=integer()),
        "timeout": record({"type": anything}),
    }
)
_ran = record(
    {"stdout": text, "stderr": text, "outcome": _outcome, "created_by": anything},
    required=("stdout", "stderr", "outcome"),
)
_screenshot = tagged(
    {"computer_screenshot": record({"type": anything, "image_url": nullable(text), "file_id": nullable(text)})}
)
_call_id = sized(1, 64)

CLIENT_ITEMS: dict[str, FieldCheck] = {
    "shell_call": _item(
        {
            "call_id": _call_id,
            "action": record(
                {"commands": _texts, "timeout_ms": nullable(integer()), "max_output_length": nullable(integer())},
                required=("commands",),
            ),
        },
        environment=nullable(mapping),
        created_by=anything,
    ),
    "shell_call_output": _item(
        {"call_id": _call_id, "output": array(_ran)}, max_output_length=nullable(integer()), created_by=anything
    ),
    "local_shell_call": _item(
        {
            "call_id": _call_id,
            "action": record(
                {
                    "type": one_of("exec"),
                    "command": _texts,
                    "env": table(text),
                    "timeout_ms": nullable(integer()),
                    "user": nullable(text),
                    "working_directory": nullable(text),
                },
                required=("type", "command", "env"),
            ),
        }
    ),
    "local_shell_call_output": _item({"output": text}),
    "apply_patch_call": _item(
        {"call_id": _call_id, "operation": _operation, "status": one_of("in_progress", "completed")},
        created_by=anything,
    ),
    "apply_patch_call_output": _item(
        {"call_id": _call_id, "status": one_of("completed", "failed")}, output=nullable(text), created_by=anything
    ),
    "computer_call": _item(
        {"call_id": _call_id, "pending_safety_checks": array(mapping)},
        action=nullable(_computer_action),
        actions=nullable(array(_computer_action)),
    ),
    "computer_call_output": _item(
        {"call_id": _call_id, "output": _screenshot}, acknowledged_safety_checks=nullable(array(mapping))
    ),
    "additional_tools": record(
        {"type": anything, "id": nullable(text), "role": one_of("developer"), "tools": array(mapping)},
        required=("role", "tools"),
    ),
}

_COMPUTERS = ("windows", "mac", "linux", "ubuntu", "browser")


def _check_inner_tool(value: Any, at: str) -> None:
    tagged(
        {
            "function": record({"name": text}, ("name",), loose=True),
            "custom": record({"name": text}, ("name",), loose=True),
        }
    )(value, at)


CLIENT_TOOLS: dict[str, FieldCheck] = {
    "computer_use_preview": typed(display_width=integer(), display_height=integer(), environment=one_of(*_COMPUTERS)),
    "computer": record({"type": anything}),
    "local_shell": record({"type": anything}),
    "shell": record({"type": anything, "allowed_callers": anything, "environment": nullable(mapping)}),
    "apply_patch": record({"type": anything, "allowed_callers": anything}),
    "namespace": typed(name=text, description=text, tools=array(_check_inner_tool)),
}
