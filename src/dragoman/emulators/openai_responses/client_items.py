"""Items and declarations of tools that the client runs: shells, patches and screens, by the types of openai 3.49.0."""

from __future__ import annotations

from dragoman.emulators.request_shape import (
    RecordShape,
    Shape,
    anything,
    complete,
    integer,
    items,
    mapping,
    nullable,
    one_of,
    table,
    tagged,
    text,
    text_up_to,
)

_STATUS = nullable(one_of("in_progress", "completed", "incomplete"))
_texts = items(text, expected="an array of strings")


def _item(required: dict[str, Shape], **optional: Shape) -> Shape:
    """An item with an id of its own and of its call."""
    usual: dict[str, Shape] = {
        "type": anything,
        "id": nullable(text),
        "call_id": text_up_to(64, nonempty=True),
        "status": _STATUS,
        "caller": nullable(mapping),
    }
    return RecordShape({**usual, **required, **optional}, required=tuple(required))


_point = RecordShape({"x": integer, "y": integer}, required=("x", "y"))


def _action(*required: str, **fields: Shape) -> Shape:
    return RecordShape({"type": anything, "keys": nullable(_texts), **fields}, required=required)


_computer_action = tagged(
    "type",
    {
        "click": _action("x", "y", "button", x=integer, y=integer, button=text),
        "double_click": _action("x", "y", x=integer, y=integer),
        "drag": _action("path", path=items(_point)),
        "keypress": _action("keys"),
        "move": _action("x", "y", x=integer, y=integer),
        "screenshot": _action(),
        "scroll": _action(
            "x", "y", "scroll_x", "scroll_y", **dict.fromkeys(("x", "y", "scroll_x", "scroll_y"), integer)
        ),
        "type": _action("text", text=text),
        "wait": _action(),
    },
)
_operation = tagged(
    "type",
    {
        "create_file": complete(type=text, path=text, diff=text),
        "update_file": complete(type=text, path=text, diff=text),
        "delete_file": complete(type=text, path=text),
    },
)
_outcome = tagged(
    "type",
    {
        "exit": complete(type=text, exit_code=integer),
        "timeout": RecordShape({"type": anything}),
    },
)
_ran = RecordShape(
    {"stdout": text, "stderr": text, "outcome": _outcome, "created_by": anything},
    required=("stdout", "stderr", "outcome"),
)
_screenshot = tagged(
    "type",
    {"computer_screenshot": RecordShape({"type": anything, "image_url": nullable(text), "file_id": nullable(text)})},
)
_call_id = text_up_to(64, nonempty=True)

CLIENT_ITEMS: dict[str, Shape] = {
    "shell_call": _item(
        {
            "call_id": _call_id,
            "action": RecordShape(
                {"commands": _texts, "timeout_ms": nullable(integer), "max_output_length": nullable(integer)},
                required=("commands",),
            ),
        },
        environment=nullable(mapping),
        created_by=anything,
    ),
    "shell_call_output": _item(
        {"call_id": _call_id, "output": items(_ran)}, max_output_length=nullable(integer), created_by=anything
    ),
    "local_shell_call": _item(
        {
            "call_id": _call_id,
            "action": RecordShape(
                {
                    "type": one_of("exec"),
                    "command": _texts,
                    "env": table(text),
                    "timeout_ms": nullable(integer),
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
        {"call_id": _call_id, "pending_safety_checks": items(mapping)},
        action=nullable(_computer_action),
        actions=nullable(items(_computer_action)),
    ),
    "computer_call_output": _item(
        {"call_id": _call_id, "output": _screenshot}, acknowledged_safety_checks=nullable(items(mapping))
    ),
    "additional_tools": RecordShape(
        {"type": anything, "id": nullable(text), "role": one_of("developer"), "tools": items(mapping)},
        required=("role", "tools"),
    ),
}

_COMPUTERS = ("windows", "mac", "linux", "ubuntu", "browser")


_inner_tool = tagged("type", dict.fromkeys(("function", "custom"), complete(name=text).opened()))


CLIENT_TOOLS: dict[str, Shape] = {
    "computer_use_preview": complete(
        type=text, display_width=integer, display_height=integer, environment=one_of(*_COMPUTERS)
    ),
    "computer": RecordShape({"type": anything}),
    "local_shell": RecordShape({"type": anything}),
    "shell": RecordShape({"type": anything, "allowed_callers": anything, "environment": nullable(mapping)}),
    "apply_patch": RecordShape({"type": anything, "allowed_callers": anything}),
    "namespace": complete(type=text, name=text, description=text, tools=items(_inner_tool)),
}
