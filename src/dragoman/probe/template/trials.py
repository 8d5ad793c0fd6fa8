"""What a chat template is asked, one odd thing at a time, and the facts that each verdict states.

Most of it is what facts declare (`profiles/facts.py`). A trial is accepted if the template renders its conversation
and all of its marked words are in the prompt. If words are missing the template has dropped them, which is as bad as
a refusal: what can be said otherwise is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from dragoman.probe.question import JsonObject, Topic
from dragoman.probe.questions_by_dialect.message_turns import text
from dragoman.probe.questions_by_dialect.phrases import Phrases, topic_of
from dragoman.probe.questions_by_dialect.question_kinds import ACCEPTS, REFUSES
from dragoman.profiles.fact_questions import Asked
from dragoman.profiles.facts import declarations, list_questions

Body = dict[str, Any]

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"word": {"type": "string", "description": "A word."}},
    "required": ["word"],
}
_MARKED = re.compile(r"\b\w+word\b")
_CALLS = re.compile(r"\b(call|result) ")


class TemplateForms(msgspec.Struct, frozen=True):
    """How this template wants what can be written in several ways."""

    listed: bool = False
    """A text is a list of parts."""
    blank: str | None = None
    """What stands for the content of a turn of calls; None: nothing."""
    null: bool = False
    """It is null."""
    empty_list: bool = False
    """It is an empty list."""

    def content(self, words: Any) -> Any:
        return [text(words)] if self.listed and isinstance(words, str) else words

    def user(self, words: Any = "Hi.") -> Body:
        return {"role": "user", "content": self.content(words)}

    def assistant(self, words: Any = "Hello.") -> Body:
        return {"role": "assistant", "content": self.content(words)}

    def system(self, words: Any = "Be brief.") -> Body:
        return {"role": "system", "content": self.content(words)}

    def calls(self, *made: JsonObject, words: str = "") -> Body:
        message: Body = {"role": "assistant", "tool_calls": list(made)}
        if words:
            message["content"] = self.content(words)
        elif self.empty_list:
            message["content"] = []
        elif self.null or self.blank is not None:
            message["content"] = None if self.null else self.blank
        return message

    def body(self, script: str, *tools: Body) -> Body:
        """The request of a script. `+tools` declares a tool, and so do calls, unless `-tools` says otherwise."""
        turns = script.removeprefix("+tools; ").removeprefix("-tools; ")
        declares = script.startswith("+tools") or (turns == script and _CALLS.search(script))
        return body(*self._phrases.written(turns), tools=tools or ((LOOKUP,) if declares else ()))

    @property
    def _phrases(self) -> Phrases:
        return Phrases(
            user=self.user,
            assistant=self.assistant,
            system=self.system,
            text=text,
            call=lambda id, arguments: call(id, f"given{id}word"),
            calling=lambda made, before, after: (self.calls(*made, words=before),),
            results=lambda ids: tuple(result(id, f"found{id}at{at}word") for at, id in enumerate(ids)),
            tool=lambda name, description, schema: tool(name),
            nothing=None,
            marked=lambda words: re.sub(r"\W", "", words).lower() + "word",
        )


def call(identity: str, word: str = "sun", name: str = "lookup") -> Body:
    arguments = msgspec.json.encode({"word": word}).decode()
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(identity: str, content: Any = "A star.") -> Body:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def tool(name: str = "lookup", **changes: Any) -> Body:
    function = {"name": name, "description": "Looks up a word.", "parameters": SCHEMA, **changes}
    return {"type": "function", "function": {key: value for key, value in function.items() if value is not None}}


def body(*messages: Mapping[str, Any], tools: tuple[Body, ...] = ()) -> Body:
    made: Body = {"messages": [dict(message) for message in messages]}
    return made | {"tools": list(tools)} if tools else made


def find_marked_words(request: Body) -> frozenset[str]:
    """The words of a request that must be in the prompt."""
    return frozenset(_MARKED.findall(msgspec.json.encode(request).decode()))


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a template."""

    id: str
    asks: str
    topic: Topic
    build: Callable[[TemplateForms], Body]
    """Writes the request."""
    never: tuple[str, ...] = ()
    """Words that must not be in the prompt, since they show that a list was printed as it is."""
    accepted: Mapping[str, Any] = {}
    refused: Mapping[str, Any] = {}
    """The facts that follow."""
    after: tuple[str, ...] = ()
    """Trials that must have been accepted, or this one means nothing."""
    loss: str = ""
    """What is lost, if the template drops it."""


LOOKUP = tool()
_PRINTED = ("'type'", '"type"')
_IMAGE: Body = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
_LISTS_REFUSED = {
    "list_content": REFUSES,
    "several_texts": REFUSES,
    "system_parts": REFUSES,
    "cache_hints": REFUSES,
    "part_fields": REFUSES,  # a string has no room for them
}
_LISTS_ACCEPTED = {"list_content": ACCEPTS, "several_texts": ACCEPTS}
_ASKED_OTHERWISE = frozenset(_LISTS_REFUSED) | {
    *("empty_beside", "inline_system", "message_name", "text_after_call"),
    *("repeated_last", "trailing_space", "unknown_fields"),
}
"""Facts about which a template says nothing, or that the trials of lists settle."""


def declared_trials(known: Mapping[str, Any]) -> Iterator[Trial]:
    """The trials of the facts that are not known yet, as they declare them: a few conversations each, all of which the
    template must take."""
    about = declarations()
    for fact, how in list_questions().items():
        if fact in known or fact in _ASKED_OTHERWISE or not how.script:
            continue
        scripts = (_whole(how.script), *how.also)
        for at, script in enumerate(scripts):
            yield _declared_trial(fact, how, script, at, str(about[fact].description))


def _whole(script: str) -> str:
    return script.removesuffix("; end") if script.endswith("; end") else f"{script}; user Last"


def _declared_trial(fact: str, how: Asked, script: str, at: int, asks: str) -> Trial:
    id = fact.replace("_", "-")
    needed = {name for name, sign in (("system", "system"), ("parallel-calls", "call a b")) if sign in script} - {id}
    return Trial(
        id=f"{id}-{at + 1}" if at else id,
        asks=asks,
        topic=topic_of(how),
        build=lambda forms: forms.body(script),
        never=("[]",) if "[]" in script else ("None",) if re.search(r" -(;|$)", script) else (),
        accepted={fact: how.values[0]} if at == 0 else {},
        refused={fact: how.values[1]},
        after=(*needed, id) if at else tuple(needed),
    )


def _script_trial(id: str, asks: str, topic: Topic, script: str, **more: Any) -> Trial:
    return Trial(id=id, asks=asks, topic=topic, build=lambda forms: forms.body(script), **more)


def _list_trial(who: str, name: str, build: Callable[[TemplateForms], Body], after: tuple[str, ...] = ()) -> Trial:
    return Trial(
        id=f"list-{name}",
        asks=f"texts in a list of parts in a {who}",
        topic=Topic.FORMS,
        build=build,
        never=_PRINTED,
        refused=_LISTS_REFUSED,
        accepted=_LISTS_ACCEPTED if name == "user" else {},
        after=after,
    )


def _call_id(name: str, asks: str, identity: str, after: tuple[str, ...] = ()) -> Trial:
    return Trial(
        id=name,
        asks=asks,
        topic=Topic.CALLS,
        build=lambda forms: _answer_call(forms, "A star.", identity),
        refused={"call_id_pattern": "[a-zA-Z0-9]{9}", "call_id_length": 9, "odd_call_id": REFUSES},
        accepted={"call_id_pattern": "", "odd_call_id": ACCEPTS},
        after=after,
    )


def _answer_call(forms: TemplateForms, content: Any, identity: str = "callid001", **fields: Any) -> Body:
    """A call and its result; `fields` are further ones of the turn that calls."""
    turns = (forms.user(), {**forms.calls(call(identity, "argumentword")), **fields}, result(identity, content))
    return body(*turns, tools=(LOOKUP,))


_TEXTS = [text("alphaword"), text("omegaword")]
_LATE_REFUSED = {"system_place": "opening", "late_system": REFUSES}

FIRST_TRIALS = (
    _list_trial("user turn", "user", lambda forms: forms.body("user [Alpha|Omega]")),
    _list_trial("turn of the assistant", "assistant", lambda forms: forms.body("user; assistant [Alpha|Omega]; user")),
    _script_trial(
        "system",
        "a system message at the start",
        Topic.OPENING,
        "system Rule; user Last",
        refused={"system_count": "none"},
        accepted={"system_count": "one"},
        loss="system",
    ),
    _list_trial("system message", "system", lambda forms: forms.body("system [Alpha|Omega]; user"), ("system",)),
    _script_trial(
        "two-systems",
        "two system messages at the start",
        Topic.OPENING,
        "system First; system Second; user Last",
        refused={"system_count": "one"},
        accepted={"system_count": "many"},
        after=("system",),
    ),
    _script_trial(
        "late-system",
        "a system message after the first turn",
        Topic.TURNS,
        "system First; user; assistant; system Late; user Last",
        refused=_LATE_REFUSED,
        accepted={"system_place": "anywhere", "late_system": ACCEPTS},
        after=("system",),
    ),
    _script_trial(
        "last-system",
        "a system message at the end",
        Topic.TURNS,
        "user First; system Late",
        refused=_LATE_REFUSED,
        after=("system", "late-system"),
    ),
    Trial(
        id="images",
        asks="an image in a user turn",
        topic=Topic.FORMS,
        build=lambda forms: body(forms.user([text("alphaword"), _IMAGE])),
        never=_PRINTED,
        refused={"media": {"image": {"inline": REFUSES, "url": REFUSES}}},
        accepted={"media": {"image": {"inline": ACCEPTS, "url": ACCEPTS}}},
        loss="images",
    ),
)


def _tool_trial(id: str, asks: str, script: str, made: Body, **more: Any) -> Trial:
    return Trial(id=id, asks=asks, topic=Topic.TOOLS, build=lambda forms: forms.body(script, made), **more)


def _lacking_trial(asks: str, fact: str, made: Body) -> Trial:
    stances = {"accepted": {fact: ACCEPTS}, "refused": {fact: REFUSES}}
    return _tool_trial(fact.replace("_", "-"), asks, "user Last", made, after=("tools",), **stances)


TOOL_TRIALS = (
    _tool_trial("tools", "tools", "user Last", tool("toolword"), loss="tools"),
    _tool_trial(
        "tools-beside-system",
        "tools beside a system message",
        "system Rule; user Last",
        tool("toolword"),
        refused={"system_count": "none"},
        after=("system", "tools"),
    ),
    _tool_trial(
        "tool-descriptions",
        "the description of a tool",
        "user Last",
        tool(description="descriptionword"),
        after=("tools",),
        loss="tool-descriptions",
    ),
    _lacking_trial("a tool without a description", "tools_without_description", tool("toolword", description=None)),
    _lacking_trial("a tool without a schema", "tools_without_schema", tool("toolword", parameters=None)),
)

CALL_TRIALS = (
    _call_id("call-ids", "long ids of calls with other signs than letters and digits", "call_0123456789abcdef"),
    _call_id("short-call-ids", "short ids of calls", "1", after=("call-ids",)),
    _script_trial(
        "undeclared-tools",
        "calls in the history and no tools",
        Topic.TOOLS,
        "-tools; user; call a; result a; assistant; user Last",
        refused={"undeclared_tools": REFUSES},
        accepted={"undeclared_tools": ACCEPTS},
    ),
    _list_trial("result", "result", lambda forms: _answer_call(forms, _TEXTS), ("list-user",)),
    Trial(
        id="result-images",
        asks="an image in a result",
        topic=Topic.FORMS,
        build=lambda forms: _answer_call(forms, [text("alphaword"), _IMAGE]),
        never=_PRINTED,
        refused={"media": {"image": {"result": REFUSES}}},
        accepted={"media": {"image": {"result": ACCEPTS}}},
        after=("images", "list-result"),
    ),
)

REASONING_FIELDS = ("reasoning_content", "reasoning")


def reasoning_trial(field: str, plain: bool) -> Trial:
    """Thinking sent back with the turn that ends in a call, where templates keep it if anywhere. `plain`: in a turn of
    words, for templates that take no calls."""

    def build(forms: TemplateForms) -> Body:
        if not plain:
            return _answer_call(forms, "outcomeword", **{field: "thoughtword"})
        return body(forms.user(), {**forms.assistant("spokenword"), field: "thoughtword"}, forms.user("lastword"))

    return Trial(
        id=f"plain-reasoning-{field}" if plain else f"reasoning-{field}",
        asks=f"thinking in the field `{field}`" + (", in a turn of words" if plain else ""),
        topic=Topic.FORMS,
        build=build,
        refused={"reasoning_text": ACCEPTS},
        accepted={"reasoning_text": ACCEPTS, "reasoning_field": field, "odd_reasoning_field": REFUSES},
        loss="reasoning",
    )
