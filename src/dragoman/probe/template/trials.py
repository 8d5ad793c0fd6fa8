"""What a chat template is asked, one odd thing at a time, and the facts that each verdict states.

A trial is accepted where the template renders its conversation and all of its marked words are in the prompt. Where
words are missing the template has dropped them, which is as bad as a refusal: what can be said otherwise is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.probe.questions import JsonObject, Topic

Body = dict[str, Any]

REFUSES = "refuses"
ACCEPTS = "accepts"

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"word": {"type": "string", "description": "A word."}},
    "required": ["word"],
}


class TemplateForms(msgspec.Struct, frozen=True):
    """How this template wants what can be written in several ways. `listed`: a text is a list of parts. `blank`: what
    stands for the content of a turn of calls; None: nothing. `null`: it is null. `empty_list`: it is an empty list."""

    listed: bool = False
    blank: str | None = None
    null: bool = False
    empty_list: bool = False

    def text(self, words: str) -> Any:
        return [{"type": "text", "text": words}] if self.listed else words

    def user(self, words: str = "Hi.") -> Body:
        return {"role": "user", "content": self.text(words)}

    def assistant(self, words: str = "Hello.") -> Body:
        return {"role": "assistant", "content": self.text(words)}

    def system(self, words: str = "Be brief.") -> Body:
        return {"role": "system", "content": self.text(words)}

    def calls(self, *made: Body, words: str | None = None) -> Body:
        message: Body = {"role": "assistant", "tool_calls": list(made)}
        if words is not None:
            message["content"] = self.text(words)
        elif self.empty_list:
            message["content"] = []
        elif self.null or self.blank is not None:
            message["content"] = None if self.null else self.blank
        return message

    def round(self, number: int, **more: Any) -> list[Body]:
        """A call and its result, with marked words in both."""
        made = call(f"callid00{number}", f"argument{number}", **more)
        return [self.calls(made), result(f"callid00{number}", f"outcome{number}")]


def call(identity: str, word: str = "sun", name: str = "lookup", **more: Any) -> Body:
    arguments = msgspec.json.encode({"word": word}).decode()
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def result(identity: str, content: Any = "A star.") -> Body:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def tool(name: str = "lookup", **changes: Any) -> Body:
    function = {"name": name, "description": "Looks up a word.", "parameters": SCHEMA, **changes}
    return {"type": "function", "function": {key: value for key, value in function.items() if value is not None}}


def body(*messages: Mapping[str, Any], tools: tuple[Body, ...] = (), **more: Any) -> Body:
    made: Body = {"messages": [dict(message) for message in messages], **more}
    return made | {"tools": list(tools)} if tools else made


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a template. `build` writes the request. `carries`: words that must be in the prompt; `never`:
    words that must not, since they show that a list was printed as it is. `refused` and `accepted`: the facts that
    follow; `settles`: the one fact that it is about. `after`: trials that must have been accepted, or this one means
    nothing. `loss`: what is lost, where the template drops it."""

    id: str
    asks: str
    topic: Topic
    build: Callable[[TemplateForms], Body]
    carries: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    refused: Mapping[str, Any] = {}
    accepted: Mapping[str, Any] = {}
    settles: str = ""
    after: tuple[str, ...] = ()
    loss: str = ""

    def facts(self, accepted: bool) -> Mapping[str, Any]:
        if self.settles:
            return {self.settles: ACCEPTS if accepted else REFUSES}
        return self.accepted if accepted else self.refused


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


def _texts(*words: str) -> list[Body]:
    return [{"type": "text", "text": word} for word in words]


def _listed(role: str, name: str, build: Callable[[TemplateForms], Body], after: tuple[str, ...] = ()) -> Trial:
    return Trial(
        id=f"list-{name}",
        asks=f"texts in a list of parts in a {role}",
        topic=Topic.FORMS,
        build=build,
        carries=("alphaword", "omegaword"),
        never=_PRINTED,
        refused=_LISTS_REFUSED,
        accepted={} if name != "user" else _LISTS_ACCEPTED,
        after=after,
    )


def _call_id(name: str, asks: str, identity: str, after: tuple[str, ...] = ()) -> Trial:
    return Trial(
        id=name,
        asks=asks,
        topic=Topic.CALLS,
        build=lambda f: body(f.user(), f.calls(call(identity)), result(identity), tools=(LOOKUP,)),
        refused={"call_id_pattern": "[a-zA-Z0-9]{9}", "call_id_length": 9, "odd_call_id": REFUSES},
        accepted={"call_id_pattern": "", "odd_call_id": ACCEPTS},
        after=after,
    )


TURN_TRIALS = (
    _listed("user turn", "user", lambda f: body({"role": "user", "content": _texts("alphaword", "omegaword")})),
    _listed(
        "turn of the assistant",
        "assistant",
        lambda f: body(f.user(), {"role": "assistant", "content": _texts("alphaword", "omegaword")}, f.user()),
    ),
    Trial(
        id="system",
        asks="a system message at the start",
        topic=Topic.OPENING,
        build=lambda f: body(f.system("systemword"), f.user("userword")),
        carries=("systemword", "userword"),
        refused={"system_count": "none"},
        accepted={"system_count": "one"},
        loss="system",
    ),
    _listed(
        "system message",
        "system",
        lambda f: body({"role": "system", "content": _texts("alphaword", "omegaword")}, f.user()),
        ("system",),
    ),
    Trial(
        id="two-systems",
        asks="two system messages at the start",
        topic=Topic.OPENING,
        build=lambda f: body(f.system("firstword"), f.system("secondword"), f.user("userword")),
        carries=("firstword", "secondword", "userword"),
        refused={"system_count": "one"},
        accepted={"system_count": "many"},
        after=("system",),
    ),
    Trial(
        id="late-system",
        asks="a system message after the first turn",
        topic=Topic.TURNS,
        build=lambda f: body(f.system("firstword"), f.user(), f.assistant(), f.system("lateword"), f.user("userword")),
        carries=("firstword", "lateword", "userword"),
        refused={"system_place": "opening", "late_system": REFUSES},
        accepted={"system_place": "anywhere", "late_system": ACCEPTS},
        after=("system",),
    ),
    Trial(
        id="last-system",
        asks="a system message at the end",
        topic=Topic.TURNS,
        build=lambda f: body(f.user("userword"), f.system("lateword")),
        carries=("lateword", "userword"),
        refused={"system_place": "opening", "late_system": REFUSES},
        after=("system", "late-system"),
    ),
    Trial(
        id="developer",
        asks="the role `developer`",
        topic=Topic.OPENING,
        build=lambda f: body({"role": "developer", "content": f.text("developerword")}, f.user("userword")),
        carries=("developerword", "userword"),
        settles="developer_role",
    ),
    Trial(
        id="system-only",
        asks="nothing but a system message",
        topic=Topic.TURNS,
        build=lambda f: body(f.system("systemword")),
        carries=("systemword",),
        after=("system",),
        settles="system_only",
    ),
    Trial(
        id="system-only-with-tools",
        asks="nothing but a system message, and tools",
        topic=Topic.TURNS,
        build=lambda f: body(f.system("systemword"), tools=(LOOKUP,)),
        carries=("systemword",),
        refused={"system_only": REFUSES},
        after=("system-only",),
    ),
    Trial(
        id="first-assistant",
        asks="a conversation that the assistant opens",
        topic=Topic.TURNS,
        build=lambda f: body(f.assistant("openingword"), f.user("userword")),
        carries=("openingword", "userword"),
        refused={"first_turn": "user"},
        accepted={"first_turn": "any"},
    ),
    Trial(
        id="first-assistant-after-system",
        asks="a system message and then the assistant",
        topic=Topic.TURNS,
        build=lambda f: body(f.system("systemword"), f.assistant("openingword"), f.user("userword")),
        carries=("systemword", "openingword", "userword"),
        refused={"first_turn": "user"},
        after=("system", "first-assistant"),
    ),
    Trial(
        id="two-users",
        asks="two user turns in a row",
        topic=Topic.TURNS,
        build=lambda f: body(f.user("firstword"), f.user("secondword"), f.assistant(), f.user("userword")),
        carries=("firstword", "secondword", "userword"),
        settles="repeated_roles",
    ),
    Trial(
        id="two-assistants",
        asks="two turns of the assistant in a row",
        topic=Topic.TURNS,
        build=lambda f: body(f.user(), f.assistant("firstword"), f.assistant("secondword"), f.user("userword")),
        carries=("firstword", "secondword", "userword"),
        refused={"repeated_roles": REFUSES},
        after=("two-users",),
    ),
    Trial(
        id="last-assistant",
        asks="a turn of the assistant at the end",
        topic=Topic.TURNS,
        build=lambda f: body(f.user("userword"), f.assistant("lastword")),
        carries=("userword", "lastword"),
        refused={"last_turn": "user"},
        accepted={"last_turn": "any"},
    ),
    Trial(
        id="only-assistant",
        asks="nothing but a turn of the assistant",
        topic=Topic.TURNS,
        build=lambda f: body(f.assistant("lastword")),
        carries=("lastword",),
        refused={"first_turn": "user"},
        after=("first-assistant",),
    ),
    Trial(
        id="empty-user",
        asks="a user turn of empty text",
        topic=Topic.TURNS,
        build=lambda f: body(f.user("")),
        settles="empty_user",
    ),
    Trial(
        id="empty-assistant",
        asks="a turn of the assistant of empty text",
        topic=Topic.TURNS,
        build=lambda f: body(f.user(), f.assistant(""), f.user("userword")),
        carries=("userword",),
        settles="empty_assistant",
    ),
    Trial(
        id="empty-system",
        asks="a system message of empty text",
        topic=Topic.OPENING,
        build=lambda f: body(f.system(""), f.user("userword")),
        carries=("userword",),
        after=("system",),
        settles="empty_system",
    ),
    Trial(
        id="blank-text",
        asks="texts of nothing but white space",
        topic=Topic.TURNS,
        build=lambda f: body(f.user(" "), f.assistant("\n"), f.user("userword")),
        carries=("userword",),
        settles="blank_text",
    ),
    Trial(
        id="no-content",
        asks="a turn of the assistant without content",
        topic=Topic.TURNS,
        build=lambda f: body(f.user(), {"role": "assistant", "content": None}, f.user("userword")),
        carries=("userword",),
        never=("None",),
        settles="no_parts",
    ),
    Trial(
        id="empty-list",
        asks="a turn of the assistant whose content is an empty list",
        topic=Topic.TURNS,
        build=lambda f: body(f.user(), {"role": "assistant", "content": []}, f.user("userword")),
        carries=("userword",),
        never=("[]",),
        refused={"no_parts": REFUSES},
        after=("no-content",),
    ),
    Trial(
        id="no-user-content",
        asks="a user turn without content",
        topic=Topic.TURNS,
        build=lambda f: body({"role": "user", "content": None}),
        never=("None",),
        settles="no_user_parts",
    ),
    Trial(
        id="images",
        asks="an image in a user turn",
        topic=Topic.FORMS,
        build=lambda f: body({"role": "user", "content": [*_texts("alphaword"), _IMAGE]}),
        carries=("alphaword",),
        never=_PRINTED,
        refused={"media": {"image": {"inline": REFUSES, "url": REFUSES}}},
        accepted={"media": {"image": {"inline": ACCEPTS, "url": ACCEPTS}}},
        loss="images",
    ),
)

TOOL_TRIALS = (
    Trial(
        id="tools",
        asks="tools",
        topic=Topic.TOOLS,
        build=lambda f: body(f.user("userword"), tools=(tool("toolword"),)),
        carries=("userword", "toolword"),
        loss="tools",
    ),
    Trial(
        id="tools-beside-system",
        asks="tools beside a system message",
        topic=Topic.TOOLS,
        build=lambda f: body(f.system("systemword"), f.user("userword"), tools=(tool("toolword"),)),
        carries=("systemword", "userword", "toolword"),
        refused={"system_count": "none"},
        after=("system", "tools"),
    ),
    Trial(
        id="tool-descriptions",
        asks="the description of a tool",
        topic=Topic.TOOLS,
        build=lambda f: body(f.user("userword"), tools=(tool(description="descriptionword"),)),
        carries=("descriptionword",),
        after=("tools",),
        loss="tool-descriptions",
    ),
    Trial(
        id="no-description",
        asks="a tool without a description",
        topic=Topic.TOOLS,
        build=lambda f: body(f.user("userword"), tools=(tool("toolword", description=None),)),
        carries=("userword", "toolword"),
        after=("tools",),
        settles="tools_without_description",
    ),
    Trial(
        id="no-schema",
        asks="a tool without a schema of its arguments",
        topic=Topic.TOOLS,
        build=lambda f: body(f.user("userword"), tools=(tool("toolword", parameters=None),)),
        carries=("userword", "toolword"),
        after=("tools",),
        settles="tools_without_schema",
    ),
)

CALL_TRIALS = (
    _call_id("call-ids", "long ids of calls with other signs than letters and digits", "call_0123456789abcdef"),
    _call_id("short-call-ids", "short ids of calls", "1", after=("call-ids",)),
    Trial(
        id="parallel-calls",
        asks="two calls in one turn",
        topic=Topic.CALLS,
        build=lambda f: body(
            f.user(),
            f.calls(call("callid001", "firstword"), call("callid002", "secondword")),
            result("callid001", "thirdword"),
            result("callid002", "fourthword"),
            tools=(LOOKUP,),
        ),
        carries=("firstword", "secondword", "thirdword", "fourthword"),
        settles="parallel_calls",
    ),
    Trial(
        id="later-parallel-calls",
        asks="two calls in one turn of a longer history",
        topic=Topic.CALLS,
        build=lambda f: body(
            f.user(),
            *f.round(1),
            f.assistant(),
            f.user(),
            f.calls(call("callid002", "firstword"), call("callid003", "secondword")),
            result("callid002", "thirdword"),
            result("callid003", "fourthword"),
            f.assistant(),
            f.user("userword"),
            tools=(LOOKUP,),
        ),
        carries=("firstword", "secondword", "thirdword", "fourthword", "userword"),
        refused={"parallel_calls": REFUSES},
        after=("parallel-calls",),
    ),
    Trial(
        id="words-beside-calls",
        asks="words and a call in one turn",
        topic=Topic.CALLS,
        build=lambda f: body(
            f.user(),
            f.calls(call("callid001", "argumentword"), words="spokenword"),
            result("callid001", "outcomeword"),
            tools=(LOOKUP,),
        ),
        carries=("spokenword", "argumentword", "outcomeword"),
        settles="text_beside_calls",
    ),
    Trial(
        id="user-after-tool",
        asks="a user turn right after a result",
        topic=Topic.TURNS,
        build=lambda f: body(f.user(), *f.round(1), f.user("userword"), tools=(LOOKUP,)),
        carries=("argument1", "outcome1", "userword"),
        settles="user_after_tool",
    ),
    Trial(
        id="undeclared-tools",
        asks="calls in the history and no tools",
        topic=Topic.TOOLS,
        build=lambda f: body(f.user(), *f.round(1), f.assistant(), f.user("userword")),
        carries=("argument1", "outcome1", "userword"),
        settles="undeclared_tools",
    ),
    Trial(
        id="missing-result",
        asks="a call without a result",
        topic=Topic.CALLS,
        build=lambda f: body(f.user(), f.calls(call("callid001", "argumentword")), f.user("userword"), tools=(LOOKUP,)),
        carries=("argumentword", "userword"),
        settles="missing_result",
    ),
    Trial(
        id="last-call",
        asks="a call without a result at the end",
        topic=Topic.CALLS,
        build=lambda f: body(f.user("userword"), f.calls(call("callid001", "argumentword")), tools=(LOOKUP,)),
        carries=("argumentword", "userword"),
        refused={"missing_result": REFUSES},
        after=("missing-result",),
    ),
    Trial(
        id="orphan-result",
        asks="a result without its call",
        topic=Topic.CALLS,
        build=lambda f: body(f.user(), result("callid009", "outcomeword"), f.user("userword"), tools=(LOOKUP,)),
        carries=("outcomeword", "userword"),
        settles="orphan_result",
    ),
    Trial(
        id="late-result",
        asks="a user turn between a call and its result",
        topic=Topic.CALLS,
        build=lambda f: body(
            f.user(),
            f.calls(call("callid001", "argumentword")),
            f.user("middleword"),
            result("callid001", "outcomeword"),
            tools=(LOOKUP,),
        ),
        carries=("argumentword", "middleword", "outcomeword"),
        settles="late_result",
    ),
    Trial(
        id="repeated-result",
        asks="two results of one call",
        topic=Topic.CALLS,
        build=lambda f: body(
            f.user(),
            f.calls(call("callid001", "argumentword")),
            result("callid001", "firstword"),
            result("callid001", "secondword"),
            tools=(LOOKUP,),
        ),
        carries=("argumentword", "firstword", "secondword"),
        settles="repeated_result",
    ),
    Trial(
        id="result-order",
        asks="results in another order than their calls",
        topic=Topic.CALLS,
        build=lambda f: body(
            f.user(),
            f.calls(call("callid001"), call("callid002")),
            result("callid002", "firstword"),
            result("callid001", "secondword"),
            tools=(LOOKUP,),
        ),
        carries=("firstword", "secondword"),
        after=("parallel-calls",),
        settles="result_order",
    ),
    Trial(
        id="calls-apart",
        asks="calls of one turn in two messages",
        topic=Topic.CALLS,
        build=lambda f: body(
            f.user(),
            f.calls(call("callid001", "firstword")),
            f.calls(call("callid002", "secondword")),
            result("callid001", "thirdword"),
            result("callid002", "fourthword"),
            tools=(LOOKUP,),
        ),
        carries=("firstword", "secondword", "thirdword", "fourthword"),
        settles="calls_apart",
    ),
    Trial(
        id="repeated-ids",
        asks="one id of a call in two turns",
        topic=Topic.CALLS,
        build=lambda f: body(
            f.user(),
            f.calls(call("callid001")),
            result("callid001", "firstword"),
            f.assistant(),
            f.user(),
            f.calls(call("callid001")),
            result("callid001", "secondword"),
            tools=(LOOKUP,),
        ),
        carries=("firstword", "secondword"),
        settles="duplicate_ids",
    ),
    _listed(
        "result",
        "result",
        lambda f: body(
            f.user(),
            f.calls(call("callid001")),
            result("callid001", _texts("alphaword", "omegaword")),
            tools=(LOOKUP,),
        ),
        ("list-user",),
    ),
    Trial(
        id="result-images",
        asks="an image in a result",
        topic=Topic.FORMS,
        build=lambda f: body(
            f.user(),
            f.calls(call("callid001")),
            result("callid001", [*_texts("alphaword"), _IMAGE]),
            tools=(LOOKUP,),
        ),
        carries=("alphaword",),
        never=_PRINTED,
        refused={"media": {"image": {"result": REFUSES}}},
        accepted={"media": {"image": {"result": ACCEPTS}}},
        after=("images", "list-result"),
    ),
)

REASONING_FIELDS = ("reasoning_content", "reasoning")


def reasoning_trial(field: str) -> Trial:
    """Thinking sent back with the turn that ends in a call, where templates keep it if anywhere."""
    return Trial(
        id=f"reasoning-{field}",
        asks=f"thinking in the field `{field}`",
        topic=Topic.FORMS,
        build=lambda f: body(
            f.user("userword"),
            {**f.calls(call("callid001", "argumentword")), field: "thoughtword"},
            result("callid001", "outcomeword"),
            tools=(LOOKUP,),
        ),
        carries=("thoughtword", "outcomeword"),
        refused={"reasoning_text": ACCEPTS},
        accepted={"reasoning_text": ACCEPTS, "reasoning_field": field, "odd_reasoning_field": REFUSES},
        loss="reasoning",
    )


def plain_reasoning_trial(field: str) -> Trial:
    """The same in a turn of words, for templates that take no calls."""
    return Trial(
        id=f"plain-reasoning-{field}",
        asks=f"thinking in the field `{field}`, in a turn of words",
        topic=Topic.FORMS,
        build=lambda f: body(f.user(), {**f.assistant("spokenword"), field: "thoughtword"}, f.user("userword")),
        carries=("thoughtword", "spokenword"),
        refused={"reasoning_text": ACCEPTS},
        accepted={"reasoning_text": ACCEPTS, "reasoning_field": field, "odd_reasoning_field": REFUSES},
        loss="reasoning",
    )
