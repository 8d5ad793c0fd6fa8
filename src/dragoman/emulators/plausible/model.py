"""The answer of a plausible model.

It knows nothing. It calls the tools that the user's turn asks for, one call for each numbered step, and then answers
from the results. Without tools it answers from what it has read: it says what it is told to, counts, adds, quotes
the sentence that has most in common with a question, and describes attachments. The same request gets the same answer.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dragoman.emulators.plausible.asked_tools import AskedTool, ToolFinder, word_set
from dragoman.emulators.plausible.computer_use import act
from dragoman.emulators.plausible.hosted_tools import answer_with_hosted
from dragoman.emulators.plausible.limits import limit_turn
from dragoman.emulators.plausible.request_view import OfferedTool, RequestView, Saying, Speaker, view_request
from dragoman.emulators.plausible.text_hints import TextHints
from dragoman.emulators.plausible.workspace_tools import is_workspace, work
from dragoman.emulators.provider import Hosted, HostedRun, ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.schema_sample import sample

_QUOTED_RESULT = 400
_QUOTED_TURN = 200
_STEPS = 50
_STEP_CLAUSES = 5
"""The most steps of a task, and the clauses of each that are looked at for a tool."""
_READ = 5_000
"""Characters of a text in which what it says about the answer are looked for."""
_REMEMBERED = 40_000
"""Characters of the conversation in which a sentence is looked for, from its end and from its beginning."""
_TAGGED = re.compile(r"<([a-z][a-z_-]{2,40})>")
_STEP = re.compile(r"(?:^|(?<=\s))(?:step\s{1,3})?(\d{1,3})[.):]\s", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.?!\n]{3,400}")
_EXACTLY = re.compile(
    r"\b(?:say|reply|answer|respond|repeat|output|print|return)\b[^\"“`\n]{0,60}[\"“`]([^\"”`\n]{1,200})[\"”`]",
    re.IGNORECASE,
)
_ONE_WORD = re.compile(
    r"\b(?:say|reply|answer|respond)\b[^.:\n]{0,60}(?:\bthe word|:)\s{1,3}([\w-]{1,60})[.!]?\s*$", re.IGNORECASE
)
_HEADINGS_ASKED = re.compile(r"\bheadings\b", re.IGNORECASE)
_HEADING = re.compile(r"^##? [^\n]{1,60}$", re.MULTILINE)
_OUTLINED = 4_000
"""Characters that stand under a heading, from the beginning and from the end."""
_BRIEFLY = re.compile(r"\b(?:just|only|nothing but)\s(?:the|that|this|its?|his|her|my|your|one)\b", re.IGNORECASE)
_IN_JSON = re.compile(r"\bJSON\b")
_DECODER = json.JSONDecoder()
_ANY_OBJECT = {"type": "object"}
_KEYS = re.compile(r"(?<!\w)[\"'`“]([A-Za-z_]\w{0,60})[\"'`”](?!\w)")
_COUNT = re.compile(r"\bcount (?:from (\d{1,4}) )?(?:up )?to (\d{1,4})\b", re.IGNORECASE)
_SUM = re.compile(r"(-?\d{1,12}(?:\.\d{1,6})?)\s{0,2}([+*/×x-]|plus|minus|times)\s{0,2}(-?\d{1,12}(?:\.\d{1,6})?)")
_OPERATIONS = {"+": operator.add, "plus": operator.add, "-": operator.sub, "minus": operator.sub}
_OPERATIONS |= {"*": operator.mul, "×": operator.mul, "x": operator.mul, "times": operator.mul, "/": operator.truediv}
_TOOL_SEARCH = re.compile(r"tool_?search|search_?tools?", re.IGNORECASE)
_WANTS_TOOL = re.compile(r"\buse the [^.\n]{1,80}\btool\b", re.IGNORECASE)
_THINKERS = re.compile(
    r"\b(?:o[134]|gpt-[5-9]|gpt-oss|claude|gemini|deepseek-(?:r|v4)|glm|kimi|minimax|grok-4|qwen3|command-a|magistral)"
    r"|reason|think"
)
"""Models that may think unasked. Their provider knows whether they do."""
_CANDOUR = (
    "I am an emulated model. I have no knowledge of my own: I call the tools that I am asked to call, and I answer from"
    " what stands in this conversation. Ask me for something that one of the offered tools does, give me numbered"
    " steps, attach a file, or ask about something that was said before."
)


def answer_plausibly(request: ReceivedRequest) -> ModelTurn:
    """The turn of a model that does what it is asked."""
    view = view_request(request.body if isinstance(request.body, dict) else {})
    turn = _answer(view)
    is_thinker = view.thinking is True or _THINKERS.search(request.model.lower()) is not None
    if view.thinking is False or not is_thinker or not request.thinks:
        turn = replace(turn, reasoning=None)
    return limit_turn(_continue(turn, view.sayings), view)


def _continue(turn: ModelTurn, sayings: tuple[Saying, ...]) -> ModelTurn:
    """The turn without its beginning, if the request ends with that as a turn of the model's own."""
    begun = sayings[-1].text if sayings and sayings[-1].speaker is Speaker.MODEL else ""
    text = turn.visible_text
    return replace(turn, text=text[len(begun) :], json=None) if begun and text.startswith(begun) else turn


def _answer(view: RequestView) -> ModelTurn:
    start = _start_of_task(view.sayings)
    task = _without_tags(view.sayings[start].text) if start >= 0 else ""
    since = view.sayings[start + 1 :]
    made = sum(saying.speaker is Speaker.CALL and not _TOOL_SEARCH.search(saying.name) for saying in since)
    calls = _next_calls(view, task, made) or _search_for_tools(view, task, since)
    thought = f'The user says: "{_shorten(task, _QUOTED_TURN)}".'
    if not calls and not made and view.hosted:
        turn = _use_hosted(view, task, thought, bool(start >= 0 and view.sayings[start].attached))
        if turn is not None:
            return turn
    if calls:
        names = ", ".join(asked.tool.name for asked in calls)
        made_calls = tuple(_make_call(one, task) for one in calls)
        return ModelTurn(reasoning=f"{thought} I call {names}.", calls=made_calls)
    results = [saying for saying in since if saying.speaker is Speaker.RESULT]
    text = _answer_from(results, since) if results else _talk(view, task, start)
    asked_in_words = [text for text in (task, *_systems(view)[-1:]) if _IN_JSON.search(text[-_READ:])]
    if view.schema is not None or asked_in_words:
        in_words = view.schema in (None, _ANY_OBJECT)
        schema = next(filter(None, map(_schema_in, asked_in_words)), None) if in_words else view.schema
        return ModelTurn(reasoning=f"{thought} I answer in JSON.", json=_json_answer(schema, task, text))
    return ModelTurn(reasoning=f"{thought} I have what I need.", text=text)


def _search_for_tools(view: RequestView, task: str, since: tuple[Saying, ...]) -> list[AskedTool]:
    """The client's own search for tools, if the task wants one that is not there, and nobody has looked for it."""
    if view.choice == "none" or any(saying.speaker is Speaker.CALL for saying in since) or not _WANTS_TOOL.search(task):
        return []
    return [AskedTool(tool, task) for tool in view.tools if _TOOL_SEARCH.search(tool.name)][:1]


def _use_hosted(view: RequestView, task: str, thought: str, has_attachment: bool) -> ModelTurn | None:
    """The turn of a model that uses a tool of its provider; None if the task asks for none."""
    found = _look_for_tools(view, task)
    if found:
        tools = tuple({one.tool.name: one.tool.entry for one in found}.values())
        query = " ".join(one.tool.name for one in found)
        run = HostedRun(Hosted.TOOLS, {"query": query}, found=tools)
        calls = tuple(ModelCall(one.tool.name, _arguments(one, task)) for one in found)
        return ModelTurn(reasoning=f"{thought} I look for a tool.", runs=(run,), calls=calls)
    is_question = bool(task) and not view.tools and not has_attachment and not _find_dictated(task)
    used = answer_with_hosted(view.hosted, task, view.choice, view.approvals, is_question=is_question)
    if used is None:
        return None
    turn = ModelTurn(reasoning=f"{thought} I use a tool.", runs=used.runs)
    if view.schema is not None and used.text:
        return replace(turn, json=_json_answer(view.schema, task, used.text))
    return replace(turn, text=used.text or None, cited=used.cited)


def _look_for_tools(view: RequestView, task: str) -> list[AskedTool]:
    """The deferred tools that the task asks for, if the model can look for them."""
    if view.choice == "none" or not view.deferred or all(one.tool is not Hosted.TOOLS for one in view.hosted):
        return []
    return ToolFinder(view.deferred).find(task)[: 1 if view.one_call else None]


def _json_answer(schema: Any, task: str, text: str) -> Any:
    """A value that fits the schema. Of any object, the keys that the task names; else the answer in words."""
    made = sample(schema, TextHints(task))
    return made or dict.fromkeys(_KEYS.findall(task[:_READ]), "text") or {"answer": text}


def _schema_in(text: str) -> Any:
    """The JSON schema that stands in a text. None if there is none."""
    start = text.find("{")
    try:
        found = _DECODER.raw_decode(text, start)[0] if start >= 0 else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.keys() & {"type", "properties", "$ref", "anyOf"} else None


def _start_of_task(sayings: tuple[Saying, ...]) -> int:
    """Where the user's last turn stands that says or attaches something. Remarks of an agent in tags are none."""
    for at in range(len(sayings) - 1, -1, -1):
        saying = sayings[at]
        if saying.speaker is Speaker.USER and (saying.attached or _without_tags(saying.text)):
            return at
    return -1


def _without_tags(text: str) -> str:
    """The text without what agents put into tags, such as `<system-reminder>…</system-reminder>`."""
    kept, at = [], 0
    for start, end in _find_tagged(text):
        kept.append(text[at : text.rindex("<", 0, start)])
        at = text.index(">", end) + 1
    return "".join([*kept, text[at:]]).strip()


def _find_tagged(text: str) -> Iterator[tuple[int, int]]:
    """Where the insides of tags begin and end, one after the other."""
    at = 0
    while found := _TAGGED.search(text, at):
        closing = f"</{found[1]}>"
        end = text.find(closing, found.end())
        if end < 0:
            return
        yield found.end(), end
        at = end + len(closing)


def _next_calls(view: RequestView, task: str, made: int) -> list[AskedTool]:
    """The calls that come next, after so many for this task."""
    if view.choice == "none" or not view.tools:
        return []
    named = next((tool for tool in view.tools if _is_named(tool, view.choice)), None)
    if named is not None:
        return [AskedTool(named, task)]
    finder = ToolFinder(view.tools)
    steps = [asked for step in _steps(task) for asked in finder.find(step, _STEP_CLAUSES)[:1]]
    asked = steps or finder.find(task)
    if view.choice == "required" and made >= len(asked):
        return asked[-1:] or [AskedTool(view.tools[0], task)]
    if steps or view.one_call:
        return asked[made : made + 1]
    return asked if not made else []


def _is_named(tool: OfferedTool, choice: str) -> bool:
    """Whether a choice names the tool; of a screen, any of its verbs."""
    return tool.name == choice if tool.form is None else choice.startswith("computer")


def _steps(task: str) -> list[str]:
    """The numbered steps of a task: from 1 on, each number one more than the one before."""
    marks, number = [], 1
    for found in _STEP.finditer(task):
        if int(found[1]) == number:
            marks.append(found)
            number += 1
    marks = marks[:_STEPS]
    if len(marks) < 2:
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(task)]
    return [task[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]


def _make_call(asked: AskedTool, task: str) -> ModelCall:
    form = asked.tool.form
    if form is not None:
        return (work if is_workspace(form) else act)(form, asked.tool.name, asked.words)
    return ModelCall(asked.tool.name, _arguments(asked, task))


def _arguments(asked: AskedTool, task: str) -> dict[str, object]:
    made = sample(asked.tool.schema, TextHints(asked.words, task), only_required=True)
    return made if isinstance(made, dict) else {}


def _answer_from(results: list[Saying], since: tuple[Saying, ...]) -> str:
    names = {saying.call_id: saying.name for saying in since if saying.speaker is Speaker.CALL and saying.call_id}
    lines = [f"{_name_of(one, names)} says: {_shorten(one.text, _QUOTED_RESULT) or 'nothing'}" for one in results]
    return lines[0] if len(lines) == 1 else "\n".join(f"{at}. {line}" for at, line in enumerate(lines, 1))


def _name_of(result: Saying, names: dict[str, str]) -> str:
    return result.name or names.get(result.call_id, "") or "The tool"


def _talk(view: RequestView, task: str, start: int) -> str:
    attached = list(view.sayings[start].attached) if start >= 0 else []
    outlined = _fill_headings(view.sayings[start].text) if start >= 0 else ""
    if outlined:
        return outlined
    dictated = _find_dictated(task) or next(filter(None, map(_exactly, _systems(view))), "")
    if dictated:
        return dictated
    found = _find_related(view.sayings[:start] if start > 0 else (), task)
    if found and _BRIEFLY.search(task[:_READ]):
        return f"{found}."
    quoted = [f'It was said before: "{found}."'] if found else []
    opening = [f'You say: "{_shorten(task, _QUOTED_TURN)}".'] if task else []
    return " ".join([*opening, *attached, *quoted] + ([] if attached or quoted else [_CANDOUR]))


def _fill_headings(task: str) -> str:
    """What the task says about something, under the headings that it wants. Empty if it names none."""
    if not _HEADINGS_ASKED.search(task[:_READ]):
        return ""
    headings = list(dict.fromkeys(_HEADING.findall(task[:_READ])))
    summary = max((task[start:end] for start, end in _find_tagged(task)), key=len, default=task).strip()
    if len(summary) > 2 * _OUTLINED:
        summary = f"{summary[:_OUTLINED]}\n…\n{summary[-_OUTLINED:]}"
    return (
        "\n\n".join([f"{headings[0]}\n{summary}", *(f"{one}\nSee above." for one in headings[1:])]) if headings else ""
    )


def _find_dictated(task: str) -> str:
    """What the user wants to be said, if it dictates that."""
    exact = _exactly(task)
    if exact:
        return exact
    count = _COUNT.search(task)
    if count:
        return ", ".join(map(str, range(int(count[1] or 1), int(count[2]) + 1)))
    term = _SUM.search(task)
    if term is None:
        return ""
    try:
        result = _OPERATIONS[term[2]](float(term[1]), float(term[3]))
    except ZeroDivisionError:
        return f"{term[0]} has no value."
    return f"{term[0]} = {result:.10g}"


def _exactly(text: str) -> str:
    found = _EXACTLY.search(text[:_READ]) or _ONE_WORD.search(text[:_READ])
    return found[1] if found else ""


def _systems(view: RequestView) -> list[str]:
    return [saying.text for saying in view.sayings if saying.speaker is Speaker.SYSTEM]


def _find_related(earlier: tuple[Saying, ...], task: str) -> str:
    """The earlier sentence that has most words in common with the task. Empty if none has any."""
    wanted = word_set(task)
    best, most = "", 0
    for sentence in _sentences(earlier) if wanted else ():
        common = len(wanted & word_set(sentence))
        if common > most:
            best, most = sentence, common
    return best


def _sentences(earlier: tuple[Saying, ...]) -> Iterator[str]:
    """The sentences that were said, the latest turn first. Long conversations are read in part."""
    left = _REMEMBERED
    for saying in reversed(earlier):
        text = saying.text[-left:] if left else saying.text[: _REMEMBERED // 10] if _is_system(saying) else ""
        left = max(0, left - len(text))
        yield from (found[0].strip() for found in _SENTENCE.finditer(text))


def _is_system(saying: Saying) -> bool:
    return saying.speaker is Speaker.SYSTEM


def _shorten(text: str, most: int) -> str:
    flat = " ".join(text[: most * 4].split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
