"""The answers of the emulated model, step by step: a list in Python or YAML.

    - text: Let me look.
      calls:
        - name: weather
          arguments: {city: Paris}
    - fault: 429;retry-after=2
    - reasoning: It rains.
      text: Take an umbrella.

Each accepted request uses the next step. After the last step the echo answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.emulators.echo_answer import echo
from dragoman.emulators.faults import BadFaultError, Fault, known_names, parse_fault
from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest

_KEYS = ("text", "reasoning", "calls", "refusal", "stop", "json", "interleave", "cached", "fault")
_STOPS = ("end", "length", "filter")
_CALL_KEYS = ("name", "arguments", "id")
StepSource = ModelTurn | str | Mapping[str, Any] | Fault | Callable[[ReceivedRequest], ModelTurn]


class BadScriptError(ValueError):
    """A script that cannot be parsed. The message names the place and what is known."""


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One answer, with or without a fault."""

    turn: ModelTurn | Callable[[ReceivedRequest], ModelTurn] | None = None  # None: the echo
    fault: Fault | None = None

    def turn_for(self, request: ReceivedRequest) -> ModelTurn:
        if self.turn is None:
            return echo(request)
        return self.turn if isinstance(self.turn, ModelTurn) else self.turn(request)


class Script:
    """The steps, and the position of the next one."""

    def __init__(self, sources: Iterable[StepSource] = (), where: str = "script") -> None:
        self._steps = [parse_step(source, f"{where}: turn {number}") for number, source in enumerate(sources, 1)]
        self._next = 0

    def next(self) -> ScriptStep:
        """The next step; the echo after the last one."""
        if self._next >= len(self._steps):
            return ScriptStep()
        self._next += 1
        return self._steps[self._next - 1]

    @property
    def left(self) -> int:
        return len(self._steps) - self._next


def load(path: str | Path) -> Script:
    """The script in a YAML file."""
    import yaml

    try:
        steps = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadScriptError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadScriptError(f"{path}: is not YAML: {error}") from error
    if not isinstance(steps, list):
        raise BadScriptError(f"{path}: must be a list of turns, such as `- text: Hello`")
    return Script(steps, str(path))


def parse_step(source: StepSource, where: str) -> ScriptStep:
    """One step of a script."""
    if isinstance(source, ModelTurn):
        return ScriptStep(source)
    if isinstance(source, Fault):
        return ScriptStep(None, source)
    if isinstance(source, str):
        return ScriptStep(ModelTurn(text=source))
    if isinstance(source, Mapping):
        return _parse_mapping(source, where)
    if callable(source):
        return ScriptStep(source)
    raise BadScriptError(f"{where}: must be a mapping or a text, not {type(source).__name__}")


def _parse_mapping(source: Mapping[str, Any], where: str) -> ScriptStep:
    _check_keys(source, _KEYS, where)
    stop = source.get("stop")
    if stop is not None and stop not in _STOPS:
        raise BadScriptError(f'{where}: stop is "{stop}"; known: {", ".join(_STOPS)}')
    for key in ("text", "reasoning", "refusal"):
        if source.get(key) is not None and not isinstance(source[key], str):
            raise BadScriptError(f"{where}: {key} must be a text")
    rest = {key: source[key] for key in source if key not in ("calls", "fault")}
    turn = ModelTurn(calls=_parse_calls(source.get("calls"), where), **rest)
    return ScriptStep(turn if source.keys() - {"fault"} else None, _parse_fault(source.get("fault"), where))


def _parse_calls(source: Any, where: str) -> tuple[ModelCall, ...]:
    if source is None:
        return ()
    if not isinstance(source, list):
        raise BadScriptError(f"{where}: calls must be a list, such as `- name: weather`")
    return tuple(_parse_call(item, f"{where}: call {number}") for number, item in enumerate(source, 1))


def _parse_call(source: Any, where: str) -> ModelCall:
    if not isinstance(source, Mapping) or not isinstance(source.get("name"), str):
        raise BadScriptError(f"{where}: must be a mapping with a name")
    _check_keys(source, _CALL_KEYS, where)
    return ModelCall(source["name"], source.get("arguments", {}), source.get("id"))


def _parse_fault(source: Any, where: str) -> Fault | None:
    if source is None:
        return None
    try:
        return parse_fault(str(source))
    except BadFaultError as error:
        raise BadScriptError(f"{where}: {error}") from error


def _check_keys(source: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in source:
        if key not in known:
            raise BadScriptError(f'{where}: no key "{key}"; {known_names(str(key), known)}')
