"""Refusals in Bedrock's words."""

from __future__ import annotations

from dragoman.emulators.emulated_api import ProviderRefusal
from dragoman.emulators.request_shape import MismatchKind, Path, ShapeMismatch

WRAPPED = "The model returned the following errors: "


class BedrockRefusal(ProviderRefusal):
    """A request that Bedrock refuses."""

    usual_kind = "ValidationException"


def unfit(mismatch: ShapeMismatch) -> BedrockRefusal:
    """A value that does not fit the service model."""
    at = place(mismatch.path)
    match mismatch.kind:
        case MismatchKind.UNKNOWN:
            return BedrockRefusal(
                f"Malformed input request: extraneous key [{mismatch.path[-1]}] is not permitted, please reformat your "
                "input and try again."
            )
        case MismatchKind.MISSING:
            return constraint("null", at, "Member must not be null")
        case MismatchKind.CHOICE | MismatchKind.TAG:
            return constraint(
                str(mismatch.value), at, f"Member must satisfy enum value set: [{', '.join(mismatch.choices)}]"
            )
        case MismatchKind.EMPTY_LIST | MismatchKind.EMPTY_TEXT:
            return constraint("", at, "Member must have length greater than or equal to 1")
        case MismatchKind.TOO_LONG:
            return constraint(
                str(mismatch.value), at, f"Member must have length less than or equal to {mismatch.limit}"
            )
        case MismatchKind.PATTERN:
            words = f"Member must satisfy regular expression pattern: {mismatch.expected}"
            return constraint(str(mismatch.value), at, words)
        case MismatchKind.BELOW | MismatchKind.ABOVE:
            bound = "greater" if mismatch.kind is MismatchKind.BELOW else "less"
            words = f"Member must have value {bound} than or equal to {mismatch.limit}"
            return constraint(str(mismatch.value), at, words)
        case _:
            return BedrockRefusal(f"Malformed input request: {at}: expected {mismatch.expected}")


def constraint(value: str, at: str, words: str) -> BedrockRefusal:
    """A value that is out of bounds, in the words that all services of AWS have for it."""
    return BedrockRefusal(
        f"1 validation error detected: Value '{value}' at '{at}' failed to satisfy constraint: {words}"
    )


def place(path: Path) -> str:
    """A path as AWS writes it: items of lists are counted from 1."""
    return ".".join(f"{step + 1}.member" if isinstance(step, int) else step for step in path)
