"""What the emulated model says, turn by turn: a list in Python or YAML.

    - text: Let me look.
      calls:
        - name: weather
          arguments: {city: Paris}
    - fault: 429;retry-after=2
    - reasoning: It rains.
      text: Take an umbrella.

Every accepted request takes the next step; after the last one the echo answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dragoman.emulators.echo_answer import echo
from dragoman.emulators.faults import BadFaultError, Fault, fault
from dragoman.emulators.provider import Received, ToolCall, Turn

_KEYS = ("text", "reasoning", "calls", "refusal", "stop", "json", "interleave", "cached", "fault")
_STOPS = ("end", "length", "filter")
_CALL_KEYS = ("name", "arguments", "id")
Said = Turn | str | Mapping[str, Any] | Fault | Callable[[Received], Turn]


class BadScriptError(ValueError):
    """A script that cannot be read; says where and what is known."""


@dataclass(frozen=True, slots=True)
class Step:
    """One answer, perhaps spoiled by a fault."""

    turn: Turn | Callable[[Received], Turn] | None = None  # None: the echo
    fault: Fault | None = None

    def say(self, call: Received) -> Turn:
        if self.turn is None:
            return echo(call)
        return self.turn if isinstance(self.turn, Turn) else self.turn(call)


class Script:
    """The steps, and how far we are."""

    def __init__(self, said: Iterable[Said] = (), where: str = "script") -> None:
        self._steps = [step(one, f"{where}: turn {number}") for number, one in enumerate(said, 1)]
        self._next = 0

    def next(self) -> Step:
        """The next step; the echo when all are said."""
        if self._next >= len(self._steps):
            return Step()
        self._next += 1
        return self._steps[self._next - 1]

    @property
    def left(self) -> int:
        return len(self._steps) - self._next


def load(path: str | Path) -> Script:
    """The script in a YAML file."""
    import yaml

    try:
        said = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadScriptError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadScriptError(f"{path}: is no YAML: {error}") from error
    if not isinstance(said, list):
        raise BadScriptError(f"{path}: must be a list of turns, such as `- text: Hello`")
    return Script(said, str(path))


def step(said: Said, where: str) -> Step:
    """One step from what was written for it."""
    if isinstance(said, Turn):
        return Step(said)
    if isinstance(said, Fault):
        return Step(None, said)
    if isinstance(said, str):
        return Step(Turn(text=said))
    if isinstance(said, Mapping):
        return _from_mapping(said, where)
    if callable(said):
        return Step(said)
    raise BadScriptError(f"{where}: must be a mapping or a text, not {type(said).__name__}")


def _from_mapping(said: Mapping[str, Any], where: str) -> Step:
    _check_keys(said, _KEYS, where)
    stop = said.get("stop")
    if stop is not None and stop not in _STOPS:
        raise BadScriptError(f'{where}: stop is "{stop}"; known: {", ".join(_STOPS)}')
    for key in ("text", "reasoning", "refusal"):
        if said.get(key) is not None and not isinstance(said[key], str):
            raise BadScriptError(f"{where}: {key} must be a text")
    rest = {key: said[key] for key in said if key not in ("calls", "fault")}
    turn = Turn(calls=_calls(said.get("calls"), where), **rest)
    return Step(turn if said.keys() - {"fault"} else None, _fault(said.get("fault"), where))


def _calls(said: Any, where: str) -> tuple[ToolCall, ...]:
    if said is None:
        return ()
    if not isinstance(said, list):
        raise BadScriptError(f"{where}: calls must be a list, such as `- name: weather`")
    return tuple(_call(one, f"{where}: call {number}") for number, one in enumerate(said, 1))


def _call(said: Any, where: str) -> ToolCall:
    if not isinstance(said, Mapping) or not isinstance(said.get("name"), str):
        raise BadScriptError(f"{where}: must be a mapping with a name")
    _check_keys(said, _CALL_KEYS, where)
    return ToolCall(said["name"], said.get("arguments", {}), said.get("id"))


def _fault(said: Any, where: str) -> Fault | None:
    if said is None:
        return None
    try:
        return fault(str(said))
    except BadFaultError as error:
        raise BadScriptError(f"{where}: {error}") from error


def _check_keys(said: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in said:
        if key in known:
            continue
        near = get_close_matches(str(key), known, n=1)
        hint = f' Did you mean "{near[0]}"?' if near else ""
        raise BadScriptError(f'{where}: no key "{key}"; known: {", ".join(known)}.{hint}')
