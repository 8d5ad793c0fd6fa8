"""Tools for a screen that the client shows: what a text asks to be done, in the form of each vendor's tool.

A model is offered one verb for each kind of action. The call that it makes is one of the declared tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from dragoman.emulators.provider import ModelCall

Action = dict[str, Any]
Point = tuple[int, int]
_TYPES = re.compile(r"computer(?:_use_preview|_toolset_\d{8}|_\d{8})?$")
_POINT = re.compile(r"(\d{1,5})\s{0,2}[,x]\s{0,2}(\d{1,5})")
_QUOTED = re.compile(r"[\"“`']([^\"”`'\n]{1,200})[\"”`']")
_PRESSED = re.compile(r"\bpress(?: the)?(?: key)? ([A-Za-z0-9+]{1,20})", re.IGNORECASE)
_DIRECTION = re.compile(r"\b(up|down|left|right)\b", re.IGNORECASE)
_USUAL_SCREEN = (1024, 768)
_SIZES = (("display_width_px", "display_height_px"), ("display_width", "display_height"))
_SCROLLED = {"up": (0, -300), "down": (0, 300), "left": (-300, 0), "right": (300, 0)}


def list_screen_verbs(entry: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What a model may do with a declared screen, each with its description; nothing if it is none."""
    settings = _gemini_settings(entry)
    if settings is not None:
        excluded = settings.get("excludedPredefinedFunctions") or settings.get("excluded_predefined_functions") or ()
        return tuple([(verb, "") for verb in _VERBS if _GEMINI[verb]((0, 0), "")[0] not in excluded])
    is_screen = isinstance(entry.get("type"), str) and _TYPES.match(entry["type"]) is not None
    return tuple([(verb, "") for verb in _VERBS]) if is_screen else ()


def _gemini_settings(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The settings of Gemini's tool; None if the entry is another."""
    found = entry.get("computerUse", entry.get("computer_use"))
    return found if isinstance(found, dict) else None


def act(entry: Mapping[str, Any], verb: str, words: str) -> ModelCall:
    """The call of a declared tool that does what the words ask for."""
    if _gemini_settings(entry) is not None:
        return ModelCall(*_GEMINI[verb](_point(_GEMINI_SCREEN, words), words))
    kind = entry["type"]
    if kind in ("computer", "computer_use_preview"):
        action = _OPENAI[verb](_point(entry, words), words)
        return ModelCall("computer", {"action": action} if kind == "computer_use_preview" else {"actions": [action]})
    name, arguments = _ANTHROPIC[verb](_point(entry, words), words)
    if "toolset" in kind:
        return ModelCall(name, arguments)
    return ModelCall("computer", {"action": name, **arguments})


def _point(entry: Mapping[str, Any], words: str) -> Point:
    """Where to point: at what the words say, or else at the middle of the screen."""
    sizes = [(entry[wide], entry[high]) for wide, high in _SIZES if wide in entry and high in entry]
    width, height = sizes[0] if sizes else _USUAL_SCREEN
    found = _POINT.search(words)
    x, y = (int(found[1]), int(found[2])) if found else (width // 2, height // 2)
    return min(x, width - 1), min(y, height - 1)


def _find_quoted(words: str) -> str:
    found = _QUOTED.search(words)
    return found[1] if found else "text"


def _key(words: str) -> str:
    found = _PRESSED.search(words)
    return found[1] if found else "Return"


def _direction(words: str) -> str:
    found = _DIRECTION.search(words)
    return found[1].lower() if found else "down"


def _scroll(at: Point, words: str) -> Action:
    across, down = _SCROLLED[_direction(words)]
    return {"type": "scroll", "x": at[0], "y": at[1], "scroll_x": across, "scroll_y": down}


_OPENAI: Mapping[str, Callable[[Point, str], Action]] = {
    "screenshot": lambda at, words: {"type": "screenshot"},
    "click": lambda at, words: {"type": "click", "x": at[0], "y": at[1], "button": "left"},
    "type": lambda at, words: {"type": "type", "text": _find_quoted(words)},
    "press": lambda at, words: {"type": "keypress", "keys": _key(words).split("+")},
    "scroll": _scroll,
    "move": lambda at, words: {"type": "move", "x": at[0], "y": at[1]},
}
_ANTHROPIC: Mapping[str, Callable[[Point, str], tuple[str, Action]]] = {
    "screenshot": lambda at, words: ("screenshot", {}),
    "click": lambda at, words: ("left_click", {"coordinate": list(at)}),
    "type": lambda at, words: ("type", {"text": _find_quoted(words)}),
    "press": lambda at, words: ("key", {"text": _key(words)}),
    "scroll": lambda at, words: (
        "scroll",
        {"coordinate": list(at), "scroll_direction": _direction(words), "scroll_amount": 3},
    ),
    "move": lambda at, words: ("mouse_move", {"coordinate": list(at)}),
}
_GEMINI_SCREEN = {"display_width": 1000, "display_height": 1000}
"""Gemini points at thousandths of a screen, whatever its size."""
_GEMINI: Mapping[str, Callable[[Point, str], tuple[str, Action]]] = {
    "screenshot": lambda at, words: ("open_web_browser", {}),
    "click": lambda at, words: ("click_at", {"x": at[0], "y": at[1]}),
    "type": lambda at, words: (
        "type_text_at",
        {"x": at[0], "y": at[1], "text": _find_quoted(words), "press_enter": False, "clear_before_typing": False},
    ),
    "press": lambda at, words: ("key_combination", {"keys": _key(words)}),
    "scroll": lambda at, words: ("scroll_document", {"direction": _direction(words)}),
    "move": lambda at, words: ("hover_at", {"x": at[0], "y": at[1]}),
}
_VERBS = tuple(_OPENAI)
"""What a model may do with a screen; the first if it must do something."""
