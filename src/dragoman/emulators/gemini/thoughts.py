"""Thought signatures: where Gemini 3 requires one, and whether returned ones are its own."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.gemini.flavour import Flavour, GeminiModel, GeminiRefusal
from dragoman.emulators.signatures import check_signature, decode_base64, is_masked, mint

# Values that mean "Gemini did not make this call".
SKIP_VALUES = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")


def issuer(flavour: Flavour, model: str) -> str:
    """The issuer of signatures: they are bound to a model and to AI Studio or Vertex."""
    return f"{flavour.name}/{model}"


def sign(flavour: Flavour, model: str, content: str) -> str:
    """The signature of a part."""
    return mint(issuer(flavour, model), content)


def check_signatures(contents: list[dict[str, Any]], flavour: Flavour, model: GeminiModel, strict: bool) -> None:
    """No required signature is missing, then each one is this emulator's own."""
    if model.needs_signatures:
        _check_present(contents, flavour)
    if model.signs_turns:
        _check_turns(contents)
    for content in contents:
        for part in content["parts"]:
            if not is_good(part.get("thoughtSignature", ""), issuer(flavour, model.name), strict):
                raise GeminiRefusal(
                    "Unable to submit request because Thought signature is not valid"
                    if flavour.is_vertex
                    else "Corrupted thought signature."
                )


def is_good(signature: str, expected: str, strict: bool) -> bool:
    """Can the issuer have made it? None at all, or a value that skips the check, is good too."""
    if not signature or is_masked(signature) or _skips(signature):
        return True
    return check_signature(expected, signature, strict) == "ok"


def _skips(signature: str) -> bool:
    """Recorded as base64; Google's documentation and its own clients write the word itself."""
    return decode_base64(signature) in SKIP_VALUES or signature.encode() in SKIP_VALUES


def _check_present(contents: list[dict[str, Any]], flavour: Flavour) -> None:
    """The first call of each content of the current turn. Parallel calls that a client writes as contents of their own
    are steps of their own (https://github.com/googleapis/js-genai/issues/1275, pipecat#3420)."""
    for i in range(_current_turn(contents), len(contents)):
        calls = [part for part in contents[i]["parts"] if "functionCall" in part]
        if contents[i].get("role") == "model" and calls and not calls[0].get("thoughtSignature"):
            raise GeminiRefusal(describe_missing(calls[0]["functionCall"]["name"], i + 1, flavour))


def _check_turns(contents: list[dict[str, Any]]) -> None:
    """The text at the beginning of each model turn, after its thoughts, and each image in it."""
    for i, content in enumerate(contents):
        visible = [(j, part) for j, part in enumerate(content["parts"]) if not part.get("thought")]
        for j, part in visible if content.get("role") == "model" else []:
            is_image = "inlineData" in part or "fileData" in part
            if (is_image or ("text" in part and j == visible[0][0])) and not part.get("thoughtSignature"):
                kind = "Image" if is_image else "Text"
                raise GeminiRefusal(
                    f"{kind} part is missing a thought_signature in content position {i + 1}, part position {j + 1}. "
                    "Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures#model-behavior for more "
                    "details."
                )


def _current_turn(contents: list[dict[str, Any]]) -> int:
    """The index after the last user content that holds more than function responses."""
    for i in range(len(contents) - 1, -1, -1):
        content = contents[i]
        if content.get("role") != "model" and any("functionResponse" not in part for part in content["parts"]):
            return i + 1
    return 0


def describe_missing(name: str, position: int, flavour: Flavour) -> str:
    """The refusal of a call without its signature."""
    if flavour.is_vertex:
        return (
            f"Unable to submit request because function call `{name}` in the {position}. content block is missing a "
            "`thought_signature`."
        )
    return (
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        f"call `default_api:{name}` , position {position}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )
