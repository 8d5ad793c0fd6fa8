"""Thought signatures: where Gemini 3 wants one, and whether those that come back are its own."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from dragoman.emulators.gemini.flavour import Fault, Manner, Model
from dragoman.emulators.signatures import decoded, is_masked, mint, verdict

# Values that stand for "this call was not made by Gemini"; on the wire they are base64, as the field is bytes.
SKIPS = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")


def issuer(manner: Manner, model: str) -> str:
    """Signatures do not move between models or routes."""
    return f"{manner.name}/{model}"


def sign(manner: Manner, model: str, content: str) -> str:
    """The signature of a part."""
    return mint(issuer(manner, model), content)


def check_signatures(contents: list[dict[str, Any]], manner: Manner, model: Model, strict: bool) -> None:
    """First that none is missing where one is due, then that each is ours."""
    if model.needs_signatures:
        _check_present(contents, manner)
    for content in contents:
        for part in content["parts"]:
            if not _is_good(part.get("thoughtSignature", ""), issuer(manner, model.name), strict):
                raise Fault(
                    "Unable to submit request because Thought signature is not valid"
                    if manner.is_vertex
                    else "Corrupted thought signature."
                )


def _is_good(signature: str, expected: str, strict: bool) -> bool:
    if not signature or is_masked(signature) or decoded(signature) in SKIPS:
        return True
    return verdict(expected, signature, strict) == "ok"


def _check_present(contents: list[dict[str, Any]], manner: Manner) -> None:
    start = _current_turn(contents)
    for is_model, step in groupby(range(start, len(contents)), key=lambda i: contents[i].get("role") == "model"):
        if is_model:
            _check_step(contents, list(step), manner)


def _check_step(contents: list[dict[str, Any]], step: list[int], manner: Manner) -> None:
    for i in step:
        for part in contents[i]["parts"]:
            if "functionCall" not in part:
                continue
            if not part.get("thoughtSignature"):
                raise Fault(_missing(part["functionCall"]["name"], i + 1, manner))
            return


def _current_turn(contents: list[dict[str, Any]]) -> int:
    """Just after the last content of the user that is more than responses."""
    for i in range(len(contents) - 1, -1, -1):
        content = contents[i]
        if content.get("role") != "model" and any("functionResponse" not in part for part in content["parts"]):
            return i + 1
    return 0


def _missing(name: str, position: int, manner: Manner) -> str:
    if manner.is_vertex:
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
