"""The answers of the emulated model, step by step: a list in Python or YAML.

    - text: Let me look.
      calls:
        - name: weather
          arguments: {city: Paris}
    - fault: 429;retry-after=2
    - reasoning: It rains.
      text: Take an umbrella.

Each accepted request uses the next step. After the last step a model answers without a script. A step with a condition
waits for a request that fulfils it, and lets others pass (`step_conditions.py`); with `repeat` it answers every such
request:

    - when: {matches: title}
      repeat: true
      text: A walk in the rain
    - when: {tool: weather}
      calls: [{name: weather, arguments: {city: Paris}}]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.emulators.faults import BadFaultError, Fault, known_names, parse_fault
from dragoman.emulators.provider import Model, ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.step_conditions import CONDITIONS, BadConditionError, StepCondition, parse_condition

_TURN_KEYS = ("text", "reasoning", "calls", "refusal", "stop", "json", "interleave", "cached")
_KEYS = (*_TURN_KEYS, "fault", "when", "repeat")
_STOPS = ("end", "length", "filter")
_CALL_KEYS = ("name", "arguments", "id")
ALWAYS = StepCondition()


class BadScriptError(ValueError):
    """A script that cannot be parsed. The message names the place and what is known."""


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One answer of a script."""

    turn: ModelTurn | Model | None = None  # None: the model that answers without a script
    fault: Fault | None = None
    """What goes wrong with it, if anything."""
    when: StepCondition = ALWAYS
    """Which requests get it."""
    repeat: bool = False
    """Every such request gets it, and not only the next."""

    def turn_for(self, request: ReceivedRequest, model: Model) -> ModelTurn:
        turn = model if self.turn is None else self.turn
        return turn if isinstance(turn, ModelTurn) else turn(request)


StepSource = ModelTurn | str | Mapping[str, Any] | Fault | Model | ScriptStep


@dataclass(frozen=True, slots=True)
class ScriptPlace:
    """Where a step stands."""

    file: str
    """The name of the file."""
    number: int
    """Of the step."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Of its keys, as far as they are known."""

    def at(self, key: str = "") -> str:
        """The place of a key, in words."""
        line = self.lines.get(key) or self.lines.get("")
        return f"{self.file}: turn {self.number}" if line is None else f"{self.file}:{line}: turn {self.number}"


class Script:
    """The steps that are left, in order."""

    def __init__(self, sources: Iterable[StepSource] = (), where: str = "script") -> None:
        self._steps = [parse_step(source, ScriptPlace(where, number)) for number, source in enumerate(sources, 1)]

    @classmethod
    def of(cls, steps: Iterable[ScriptStep]) -> Script:
        script = cls()
        script._steps = list(steps)
        return script

    def next(self, request: ReceivedRequest) -> ScriptStep:
        """The first step left that this request fulfils; the echo if there is none. A step is used once, unless it
        repeats."""
        for index, step in enumerate(self._steps):
            if step.when is ALWAYS or step.when.holds(request):
                return step if step.repeat else self._steps.pop(index)
        return ScriptStep()

    @property
    def left(self) -> int:
        """The steps that still wait for their request."""
        return sum(not step.repeat for step in self._steps)


def load(path: str | Path) -> Script:
    """The script in a YAML file."""
    import yaml

    try:
        text = Path(path).read_text(encoding="utf-8")
        steps = yaml.safe_load(text)
    except OSError as error:
        raise BadScriptError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadScriptError(f"{path}: is not YAML: {error}") from error
    if not isinstance(steps, list):
        raise BadScriptError(f"{path}: must be a list of turns, such as `- text: Hello`")
    lines = _lines_of_steps(yaml.compose(text, Loader=yaml.SafeLoader))
    places = (ScriptPlace(str(path), number, found) for number, found in enumerate(lines, 1))
    return Script.of(parse_step(step, place) for step, place in zip(steps, places, strict=True))


def _lines_of_steps(root: Any) -> list[dict[str, int]]:
    """For each step of a file, the lines of its keys, those inside `when` too; under "" its first line."""
    return [_lines_of_keys(node) for node in root.value]


def _lines_of_keys(node: Any) -> dict[str, int]:
    lines = {"": node.start_mark.line + 1}
    pairs = node.value if isinstance(node.value, list) else []
    for key, value in (pair for pair in pairs if isinstance(pair, tuple)):
        lines[str(key.value)] = key.start_mark.line + 1
        inner = value.value if key.value == "when" and isinstance(value.value, list) else []
        lines |= {f"when.{name.value}": name.start_mark.line + 1 for name, _ in inner}
    return lines


def parse_step(source: StepSource, where: ScriptPlace) -> ScriptStep:
    """One step of a script."""
    if isinstance(source, ScriptStep):
        return source
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
    raise BadScriptError(f"{where.at()}: must be a mapping or a text, not {type(source).__name__}")


def _parse_mapping(source: Mapping[str, Any], where: ScriptPlace) -> ScriptStep:
    _check_keys(source, _KEYS, where)
    stop = source.get("stop")
    if stop is not None and stop not in _STOPS:
        raise BadScriptError(f'{where.at("stop")}: stop is "{stop}". {known_names(str(stop), _STOPS)}')
    for key in ("text", "reasoning", "refusal"):
        if source.get(key) is not None and not isinstance(source[key], str):
            raise BadScriptError(f"{where.at(key)}: {key} must be a text")
    if not isinstance(source.get("repeat", False), bool):
        raise BadScriptError(f"{where.at('repeat')}: repeat must be true or false")
    rest = {key: source[key] for key in source if key in _TURN_KEYS and key != "calls"}
    turn = ModelTurn(calls=_parse_calls(source.get("calls"), where), **rest)
    return ScriptStep(
        turn if not source.keys().isdisjoint(_TURN_KEYS) else None,
        _parse_fault(source.get("fault"), where),
        _parse_when(source.get("when"), where),
        source.get("repeat", False),
    )


def _parse_when(source: Any, where: ScriptPlace) -> StepCondition:
    if source is None:
        return ALWAYS
    if not isinstance(source, Mapping) or not source:
        raise BadScriptError(f"{where.at('when')}: when must be a mapping, such as `when: {{tool: weather}}`")
    _check_keys(source, CONDITIONS, where, inside="when.")
    try:
        return parse_condition(source)
    except BadConditionError as error:
        raise BadScriptError(f"{where.at(f'when.{error.key}')}: when: {error}") from None


def _parse_calls(source: Any, where: ScriptPlace) -> tuple[ModelCall, ...]:
    if source is None:
        return ()
    if not isinstance(source, list):
        raise BadScriptError(f"{where.at('calls')}: calls must be a list, such as `- name: weather`")
    return tuple(_parse_call(item, where, number) for number, item in enumerate(source, 1))


def _parse_call(source: Any, where: ScriptPlace, number: int) -> ModelCall:
    place = f"{where.at('calls')}: call {number}"
    if not isinstance(source, Mapping) or not isinstance(source.get("name"), str):
        raise BadScriptError(f"{place}: must be a mapping with a name")
    for key in source:
        if key not in _CALL_KEYS:
            raise BadScriptError(f'{place}: no key "{key}". {known_names(str(key), _CALL_KEYS)}')
    return ModelCall(source["name"], source.get("arguments", {}), source.get("id"))


def _parse_fault(source: Any, where: ScriptPlace) -> Fault | None:
    if source is None:
        return None
    try:
        return parse_fault(str(source))
    except BadFaultError as error:
        raise BadScriptError(f"{where.at('fault')}: {error}") from error


def _check_keys(source: Mapping[str, Any], known: tuple[str, ...], where: ScriptPlace, inside: str = "") -> None:
    for key in source:
        if key not in known:
            place = f"{where.at(f'{inside}{key}')}: {inside.rstrip('.')}{': ' if inside else ''}"
            raise BadScriptError(f'{place}no key "{key}". {known_names(str(key), known)}')
