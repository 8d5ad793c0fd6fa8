"""JSON that does not fit what is read of it, made to fit.

Servers write an id as a number, a number as text, one value where a list is due, a null in a list; some write JSON with
NaN or a line end inside a text. What has one possible meaning is written so. What says nothing is left out. A value
that says something and fits nowhere stays, and then nothing can be read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

_MOST = 16
"""Misfits of one text that are mended. More are no slip of a server's."""
_LONGEST_NUMBER = 20
_FAULT = re.compile(r"Expected `([^`]{1,80})`")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_AT = " - at `$"

Decoded = TypeVar("Decoded")


def decode_fitted(decode: Callable[[bytes], Decoded], data: bytes) -> tuple[Decoded | None, bytes]:
    """The decoded value, and the text that was decoded. None if the text cannot be made to fit."""
    try:
        value = json.loads(data, strict=False, parse_constant=_nothing, parse_float=_finite)
        for _ in range(_MOST):
            fitted = json.dumps(value, separators=(",", ":")).encode()
            try:
                return decode(fitted), fitted
            except msgspec.ValidationError as fault:
                if not _mend(value, str(fault)):
                    break
    except (ValueError, RecursionError):
        pass
    return None, data


def _nothing(_: str) -> None:
    """In place of NaN and Infinity."""


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _mend(value: Any, fault: str) -> bool:
    """Mend the member that a decoder complains of. False if it says something that fits nowhere."""
    what, _, path = fault.rpartition(_AT)
    steps: list[Any] = [name or int(index) for name, index in _STEP.findall(path.removesuffix("`"))]
    expected = _FAULT.match(what)
    if not steps or expected is None:
        return False
    *above, last = steps
    try:
        for step in above:
            value = value[step]
        found = value[last]
        fitted = _fit(found, expected[1])
    except (LookupError, TypeError, ValueError):
        return False
    if fitted is not None:
        value[last] = fitted
    elif found in (None, "", [], {}) or isinstance(found, bool):
        del value[last]
    else:
        return False
    return True


def _fit(found: Any, expected: str) -> Any:
    """What a value means where another type is due; None if it cannot be told."""
    if isinstance(found, bool):
        return None
    if "str" in expected and isinstance(found, int | float):
        return json.dumps(found)
    if "int" in expected and isinstance(found, str | float) and len(str(found)) <= _LONGEST_NUMBER:
        return int(found)
    if "bool" in expected and found in ("true", "false"):
        return found == "true"
    if "array" in expected and isinstance(found, dict) and found:
        return [found]
    if "object" in expected and isinstance(found, list) and len(found) == 1:
        return found[0]
    return None
