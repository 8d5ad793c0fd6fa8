"""A long task for an agent: step after step in its shell, while it compacts by itself and the provider changes.

The model knows what its request holds, and nothing else. Each step's result has a word that nobody can guess; the last
answer names all of them, so whatever a compaction or a change of provider lost would be missing there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.emulators.answer_script import StepSource
from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.testing import when

_RESULT = re.compile(r"step (\d+) gave ([0-9a-f]{8})")
_SUMMARY_PROMPT = re.compile("(?i)create a (detailed|handoff) summary|distilling|Write under these headings")
"""Words with which the clients, and the gateway, ask for a summary."""
_SUMMARY = (
    "<state_snapshot>\n<summary>\n## Task\nDo all steps and tell their words.\n## Decisions\nNone.\n## Facts\n{facts}\n"
    "## Work done\nSee above.\n## Open\nThe steps that are left.\n</summary>\n</state_snapshot>"
)
_SCRIPT = """printf '%s' "$1" | sha1sum | cut -c1-8 | sed "s/^/step $1 gave /"
awk -v n="$1" 'BEGIN { for (at = 0; at < LINES; at++) printf "line %d of step %d: nothing to see here\\n", at, n }'
"""


def write_steps(room: Path, lines: int) -> None:
    """The script that the agent runs: each step prints its word, and so many lines."""
    (room / "step.sh").write_text(_SCRIPT.replace("LINES", str(lines)))


def last_words(steps: int) -> str:
    """The right answer."""
    return "All words: " + " ".join(_word(number) for number in range(1, steps + 1))


def _word(number: int) -> str:
    return hashlib.sha1(str(number).encode()).hexdigest()[:8]


class Worker:
    """The model of all providers of a run. It asks for the first step whose result it does not see."""

    def __init__(self, steps: int, tool: str, argument: str, pause: int = 0) -> None:
        """After `pause` steps it waits for the user's next word."""
        self.summaries: list[int] = []
        """How many steps were done when a summary was asked for."""
        self.asked: list[int] = []
        """The steps that were asked for, in order."""
        self.before: dict[int, Callable[[], None]] = {}
        """What happens before a step is asked for."""
        self.forgets = False
        """Whether it goes on after the newest result, because its client drops old ones."""
        self._steps = steps
        self._pauses = set(range(pause + 1, steps + 1, pause)) if pause else set()
        self._tool = tool
        self._argument = argument
        self._compacted: dict[int, str] = {}
        self._sealed: dict[str, dict[int, str]] = {}
        """What the provider's own compaction items hold."""

    def script(self) -> list[StepSource]:
        return [when(self._answer, repeat=True)]

    def _answer(self, request: ReceivedRequest) -> ModelTurn:
        """Whatever else a client asks for, such as a title, declares no tools."""
        if _asks_for_summary(request):
            return self._sum_up(request)
        return (
            self._work(request)
            if request.body.get("tools") or "toolConfig" in request.body
            else ModelTurn(text="A title")
        )

    def _work(self, request: ReceivedRequest) -> ModelTurn:
        """Ask for the next step, or tell all words."""
        found = self._find_results(request)
        if _items(request)[-1:] == [{"type": "compaction_trigger"}]:
            self.summaries.append(len(found))
            self._compacted = found
            return ModelTurn(text="compacted")
        first = max(found, default=0) + 1 if self.forgets else 1
        number = next((at for at in range(first, self._steps + 1) if at not in found), 0)
        if not number:
            return ModelTurn(text="All words: " + " ".join(found[at] for at in sorted(found)))
        if number in self.asked:
            return ModelTurn(text=f"The result of step {number} was lost.")
        if number in self._pauses:
            self._pauses.remove(number)
            return ModelTurn(text="Shall I go on?")
        self.before.pop(number, lambda: None)()
        self.asked.append(number)
        call = ModelCall(self._tool, {self._argument: f"sh step.sh {number}"})
        return ModelTurn(text=f"Now step {number}.", calls=(call,))

    def _sum_up(self, request: ReceivedRequest) -> ModelTurn:
        """A summary in the form that all of those who ask for one take."""
        found = self._find_results(request)
        self.summaries.append(len(found))
        facts = "\n".join(f"step {at} gave {word}" for at, word in sorted(found.items()))
        return ModelTurn(text=_SUMMARY.format(facts=facts))

    def _find_results(self, request: ReceivedRequest) -> dict[int, str]:
        seen = {int(number): word for number, word in _RESULT.findall(json.dumps(request.body))}
        for item in _items(request):
            if item.get("type") == "compaction":
                seen |= self._sealed.setdefault(item["encrypted_content"], self._compacted)
        return seen


def _items(request: ReceivedRequest) -> list[Any]:
    """The items of a Responses request."""
    given = request.body.get("input")
    return given if isinstance(given, list) else []


def _asks_for_summary(request: ReceivedRequest) -> bool:
    """In the instructions, or in the last turn. A client may put a reminder of the system behind it."""
    members = {name: value for name, value in request.body.items() if name not in ("tools", "toolConfig")}
    turns = next((members.pop(name) for name in ("messages", "contents", "input") if name in members), [])
    instructions = [turn for turn in turns[:1] if _is_systems(turn)]
    last = [turn for turn in turns if not _is_systems(turn)][-1:]
    return _SUMMARY_PROMPT.search(json.dumps([members, instructions, last])) is not None


def _is_systems(turn: Any) -> bool:
    return turn.get("role") in ("system", "developer")
