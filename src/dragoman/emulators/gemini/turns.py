"""Checks across contents: roles, empty parts, calls and responses. Neighbours of one role are one turn."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dragoman.emulators.gemini.flavour import Flavour, GeminiModel, GeminiRefusal
from dragoman.emulators.gemini.messages import PART_DATA

Content = dict[str, Any]
Part = dict[str, Any]
_AFTER_USER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_AFTER_CALL = "Please ensure that function response turn comes immediately after a function call turn."
_EQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
_LONE_MODEL = "Please ensure that single turn requests end with a user role or the role field is empty."
_LEARN = "Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini"


@dataclass(frozen=True, slots=True)
class GeminiTurn:
    """Neighbouring contents of one role, and all their parts."""

    role: str
    parts: tuple[Part, ...]

    def of(self, kind: str) -> list[Any]:
        return [part[kind] for part in self.parts if kind in part]


def check_contents(contents: list[Content], flavour: Flavour, model: GeminiModel) -> None:
    """All checks, in the order in which the service reports their errors."""
    if not contents:
        raise flavour.field_refusal(
            "contents", "contents is not specified", f"at least one contents field is required. {_LEARN}"
        )
    for i, content in enumerate(contents):
        _check_parts(content, i, flavour, model)
    for content in contents:
        _check_role(content, flavour, model)
    if len(contents) == 1 and contents[0].get("role") == "model":
        raise GeminiRefusal(_LONE_MODEL)
    _check_pairs(turns_of(contents))


def turns_of(contents: list[Content]) -> list[GeminiTurn]:
    """The turns of a conversation. The old role `function` counts as user."""
    grouped = groupby(contents, key=lambda content: "model" if content.get("role") == "model" else "user")
    return [
        GeminiTurn(role, tuple(part for content in group for part in content.get("parts", [])))
        for role, group in grouped
    ]


def _check_parts(content: Content, i: int, flavour: Flavour, model: GeminiModel) -> None:
    parts = content.get("parts", [])
    if not parts:
        raise flavour.field_refusal(
            f"contents[{i}].parts",
            "contents.parts must not be empty.",
            f"it must include at least one parts field, which describes the prompt input. {_LEARN}",
        )
    for j, part in enumerate(parts):
        _check_part(part, f"contents[{i}].parts[{j}]", flavour, model)


def _check_part(part: Part, at: str, flavour: Flavour, model: GeminiModel) -> None:
    set_fields = [name for name in PART_DATA if name in part]
    if len(set_fields) > 1:
        raise GeminiRefusal(
            f"Invalid value at '{at}' (oneof), oneof field 'data' is already set. Cannot set '{set_fields[1]}'"
        )
    if not set_fields and "thoughtSignature" not in part:
        raise flavour.field_refusal(
            f"{at}.data",
            "required oneof field 'data' must have one initialized field",
            f"it must include at least one parts field, which describes the prompt input. {_LEARN}",
        )
    if flavour.is_vertex and part.get("text") == "" and "thoughtSignature" not in part:
        raise GeminiRefusal(
            "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try "
            f"again. {_LEARN}"
        )
    for kind in ("inlineData", "fileData"):
        if kind in part:
            _check_type(part[kind].get("mimeType", ""), kind, flavour)
    _check_function_parts(part, at, flavour, model)


_UNSUPPORTED = re.compile(r"[^/]+|application/(msword|vnd\..*)|image/(jpg|gif|svg\+xml)")


def _check_type(media_type: str, kind: str, flavour: Flavour) -> None:
    """Types that are known to be refused: words of Office, and the end of a file's name in place of a type."""
    learn = f"try again. {_LEARN}"
    if flavour.is_vertex and not media_type:
        raise GeminiRefusal(
            f"Unable to submit request because it has an empty mimeType parameter in {kind}. Add a value to the "
            f"parameter and {learn}"
        )
    if _UNSUPPORTED.fullmatch(media_type) is None and not (flavour.is_vertex and media_type == "application/json"):
        return
    if flavour.is_vertex:
        raise GeminiRefusal(
            f"Unable to submit request because it has a mimeType parameter with value {media_type}, which is not "
            f"supported. Update the mimeType and {learn}"
        )
    raise GeminiRefusal(f"Unsupported MIME type: {media_type}")


def _check_function_parts(part: Part, at: str, flavour: Flavour, model: GeminiModel) -> None:
    for kind, spelled in (("functionCall", "function_call"), ("functionResponse", "function_response")):
        if kind in part and not part[kind].get("name"):
            raise flavour.field_refusal(f"{at}.{spelled}.name", "Name cannot be empty.")
    if part.get("functionResponse", {}).get("parts") and model.before(3):
        raise flavour.field_refusal(
            f"{at}.function_response.parts", "Multimodal function responses are not supported for this model."
        )


def _check_role(content: Content, flavour: Flavour, model: GeminiModel) -> None:
    role = content.get("role", "")
    allowed = ["user", "model"]
    if not flavour.is_vertex:
        allowed.append("")
    if not model.since(3) and any("functionResponse" in part for part in content["parts"]):
        allowed.append("function")
    if role not in allowed:
        raise GeminiRefusal("Please use a valid role: user, model.")


def _check_pairs(turns: list[GeminiTurn]) -> None:
    for position, turn in enumerate(turns):
        before = turns[position - 1] if position else None
        if turn.role == "model":
            if turn.of("functionCall") and before is None:
                raise GeminiRefusal(_AFTER_USER)
            continue
        _check_responses(turn, before)
    if turns[-1].role == "model" and turns[-1].of("functionCall"):
        raise GeminiRefusal(_EQUAL)


def _check_responses(turn: GeminiTurn, before: GeminiTurn | None) -> None:
    calls = before.of("functionCall") if before else []
    responses = turn.of("functionResponse")
    if responses and (not calls or "functionResponse" not in turn.parts[0]):
        raise GeminiRefusal(_AFTER_CALL)
    if len(responses) != len(calls):
        raise GeminiRefusal(_EQUAL)
    if not {response["name"] for response in responses} <= {call["name"] for call in calls}:
        raise GeminiRefusal(_AFTER_CALL)
