"""What a recognised refusal says about its target: for each kind of refusal, the facts that it corrects.

A correction is None if the facts say so already. If a refusal can mean several things, each step is tried in turn: the
facts tell which steps were taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.failures import Failure
from dragoman.conversation.messages import Role, find_waiting_results
from dragoman.conversation.parts import CHAT_FIELDS, Opaque, Reasoning, Result, StateKind
from dragoman.conversation.settings import Effort
from dragoman.conversation.tools import NativeTool
from dragoman.dialects.registry import list_names
from dragoman.profiles.facts import NEEDS_FILLED, Facts, Need, Stance, SystemCount, SystemPlace, Turn
from dragoman.profiles.profile import merge

Patch = dict[str, Any]
REFUSES = "refuses"

_SETTINGS: Mapping[str, str] = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "random_seed": "seed",
    "stop_sequences": "stop",
    "stopSequences": "stop",
    "topP": "top_p",
    "topK": "top_k",
    "reasoning_effort": "thinking",
    "reasoningEffort": "thinking",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
}
"""Names on the wire that we call otherwise."""
_LIMITS: Mapping[str, str] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""Each name of Chat's token limit, and the other one, which a server that refuses this one takes."""


class Recognised(msgspec.Struct, frozen=True):
    """A refusal in words that we know, and what it was about."""

    failure: Failure
    match: re.Match[str]
    facts: Facts
    conversation: Conversation


def _blocks(refusal: Recognised) -> Iterator[Opaque]:
    """The blocks of the provider's own that the target was sent."""
    facts = refusal.facts
    for message in refusal.conversation.messages:
        for part in message.parts:
            for block in part.parts if type(part) is Result else (part,):
                if type(block) is not Opaque or block.kind in facts.refused_blocks:
                    continue
                if block.origin.dialect == facts.dialect:
                    yield block


def unread_block(refusal: Recognised) -> Patch | None:
    """A block with sealed content that the target did not make. If the refusal does not say which, thoughts are left
    out first: their words are not all that there is."""
    head, tail = refusal.match["head"], refusal.match["tail"]
    if head is None and refusal.facts.reasoning_trusted and _holds_thoughts(refusal.conversation):
        return None
    sealed = re.compile(rb'"encrypted_content"\s*:\s*"%s[^"]*%s"' % (_escape(head), _escape(tail)))
    found = {block.kind for block in _blocks(refusal) if sealed.search(block.json)}
    return {"refused_blocks": [*refusal.facts.refused_blocks, *sorted(found)]} if found else None


def _escape(text: str | None) -> bytes:
    return re.escape((text or "").encode())


def _holds_thoughts(conversation: Conversation) -> bool:
    return any(
        type(part) is Reasoning and part.state is not None
        for message in conversation.messages
        for part in message.parts
    )


def unknown_block(refusal: Recognised) -> Patch | None:
    """A kind of block that the target does not have."""
    kind = refusal.match["kind"] or refusal.match["tag"] or refusal.match["block"]
    known = all(block.kind != kind for block in _blocks(refusal))
    return None if known else {"refused_blocks": [*refusal.facts.refused_blocks, kind]}


def keeps_no_items(refusal: Recognised) -> Patch | None:
    """An item is not there that others name or belong to. One of a run, which needs its id, is told in words."""
    facts, kind = refusal.facts, refusal.match.groupdict().get("kind")
    patch: Patch = {}
    if facts.item_ids and facts.kept_items is not Stance.REFUSES:
        patch["kept_items"] = REFUSES
    if kind and any(block.kind == kind for block in _blocks(refusal)):
        patch["refused_blocks"] = [*facts.refused_blocks, kind]
    return patch or None


def unknown_tool(refusal: Recognised) -> Patch | None:
    """A kind of tool that the target does not have. An item that declares one is not taken with it."""
    facts, kind = refusal.facts, next(filter(None, refusal.match.groups()))
    if kind == "custom":
        return _correct(refusal, custom_tools=REFUSES)
    late = [(block.kind, one.kind) for block in _blocks(refusal) for one in block.declares if type(one) is NativeTool]
    sent = {tool.kind for tool in refusal.conversation.tools if isinstance(tool, NativeTool)}
    sent.update([tool for _, tool in late])
    if kind not in sent.union(facts.provider_tools.values()) or f"!{kind}" in facts.native_tools:
        return None
    patch: Patch = {"native_tools": [*facts.native_tools, f"!{kind}"]}
    if blocks := sorted({block for block, tool in late if tool == kind}):
        patch["refused_blocks"] = [*facts.refused_blocks, *blocks]
    return patch


def fixed(**patch: Any) -> Callable[[Recognised], Patch | None]:
    """A lesson with one answer; None if the facts hold it already."""
    return lambda refusal: _correct(refusal, **patch)


def _correct(refusal: Recognised, **patch: Any) -> Patch | None:
    """The patch; None if the facts hold it already."""
    return patch if _lacks(refusal.facts, patch) else None


def _lacks(facts: Facts, patch: Patch) -> bool:
    """Whether the facts say something else."""
    stated = {name: _find_stated(facts, name, value) for name, value in patch.items()}
    known: Patch = msgspec.json.decode(msgspec.json.encode(stated))
    return merge(known, patch) != known


def _find_stated(facts: Facts, name: str, corrected: Any) -> Any:
    """The value of a fact; of a table the entries that are corrected."""
    if name == "settings":
        return {entry: facts.setting(entry) for entry in corrected}
    return {entry: facts.medium(entry) for entry in corrected} if name == "media" else getattr(facts, name)


def demand_reasoning(refusal: Recognised) -> Patch | None:
    """First with the turns that call tools. If that is not enough, in that field alone, and then with the words that
    follow the results too."""
    facts = refusal.facts
    need = facts.reasoning_required if facts.reasoning_required in NEEDS_FILLED else Need.TOOL_TURNS
    wanted: Patch = {
        "reasoning_required": need.value,
        "reasoning_default": True,
        "reasoning_field": "reasoning_content",
    }
    if _lacks(facts, wanted):
        return wanted
    if facts.reasoning_states and _holds_thoughts(refusal.conversation):
        return {"reasoning_states": []}
    return {"reasoning_required": Need.TOOL_EXCHANGES.value} if need is Need.TOOL_TURNS else None


def refuse_tools(refusal: Recognised) -> Patch | None:
    """Tools beside an effort are refused. If the client named none, the model's own counts: it thinks by itself."""
    facts, named = refusal.facts, refusal.conversation.settings.thinking
    patch: Patch = {"tools_with_effort": "refuses"} if facts.tools_with_effort is not Stance.REFUSES else {}
    if named is None and not facts.reasoning_default:
        patch = {**patch, "reasoning_default": True}
    if patch and facts.thinking is Stance.UNKNOWN:
        patch = {**patch, "thinking": "accepts"}
    return patch or None


def greatest_limit(refusal: Recognised) -> Patch | None:
    """The greatest token limit that the model takes."""
    most = int(refusal.match[refusal.match.lastindex or 0])
    return None if most < 1 else _correct(refusal, output_limit=most, above_output_limit=REFUSES)


def next_wrapper(refusal: Recognised) -> Patch | None:
    """The next shape of the target's ladder."""
    ladder = refusal.facts.tool_ladder
    here = ladder.index(refusal.facts.tool_wrapper) if refusal.facts.tool_wrapper in ladder else -1
    # The shape is the only one then: what the client itself wrote in another is written in this one.
    return {"tool_wrapper": ladder[here + 1], "tool_wrappers": []} if here + 1 < len(ladder) else None


def last_resort(refusal: Recognised) -> Patch | None:
    """No tools, if a tool has just answered and the client left the choice of tools open."""
    conversation = refusal.conversation
    answers = find_waiting_results(conversation.messages) >= 0
    open_choice = conversation.settings.tool_choice is None
    if not (refusal.facts.tools_last_resort and answers and open_choice):
        return None
    patch = without_tools(refusal)
    return patch and {**patch, "choice_without_tools": "accepts"}


without_tools = fixed(tools=REFUSES)


def refuse_field(refusal: Recognised) -> Patch | None:
    """A field named in the refusal: a setting, or something inside the messages."""
    name = refusal.match["name"]
    if name.endswith(".scope") and ".cache_control." in name:
        return _correct(refusal, cache_scope=REFUSES)
    if _inside_messages(refusal.match.string, name):
        return stray_field(refusal)
    return _refuse_setting(name, refusal)


def refuse_fields(refusal: Recognised) -> Patch | None:
    """All settings that the refusal names."""
    patch: Patch = {}
    for name in re.findall(r"[\w.-]+", refusal.match["names"]):
        more = _refuse_setting(name, refusal) or {}
        listed = [*patch.get("refused_settings", ()), *more.get("refused_settings", ())]
        patch = merge(patch, {**more, "refused_settings": list(dict.fromkeys(listed))} if listed else more)
    return patch or None


def _refuse_setting(name: str, refusal: Recognised) -> Patch | None:
    head = name.removeprefix("body.").partition(".")[0].partition("[")[0]  # servers made with FastAPI count from there
    if head == "stream_options":
        return _correct(refusal, stream_usage=REFUSES)
    if head in ("tools", "system") or head in list_names():
        return None
    if head == "cache_control" and refusal.conversation.hint is not None:
        return _correct(refusal, cache_hint_whole=False)
    if head in refusal.facts.refused_settings:
        return None
    if head in _LIMITS and not refusal.facts.limit_name and refusal.facts.two_limits is not Stance.ACCEPTS:
        return {"limit_name": _LIMITS[head]}
    ours = _SETTINGS.get(head, head)
    patch: Patch = {"refused_settings": [*refusal.facts.refused_settings, head]}
    if ours == "thinking":
        patch["thinking_form"] = "none"
    elif ours != head or ours in _TYPED:
        patch["settings"] = {ours: {"support": REFUSES}}
    return patch


_TYPED = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "seed", "stop", "n", "logprobs", "top_logprobs", "frequency_penalty"}
    | {"presence_penalty", "parallel_tool_calls", "verbosity", "user", "metadata", "service_tier", "store"}
    | {"prompt_cache_key", "max_tokens"}
)


def _inside_messages(text: str, name: str) -> bool:
    return bool(re.search(r"messages[.\[]|contents[.\[]|input\[|tools[.\[]", text[: text.find(name) + len(name)]))


def most(fact: str) -> Callable[[Recognised], Patch | None]:
    """The refusal says how many there may be."""

    def teach(refusal: Recognised) -> Patch | None:
        most = int(refusal.match[refusal.match.lastindex or 0])
        return None if most < 1 else _correct(refusal, **{fact: most})

    return teach


def longest(refusal: Recognised) -> Patch | None:
    """The refusal says how long the text of a setting may be."""
    name, most = refusal.match["name"], int(refusal.match["most"])
    return None if most < 1 else _correct(refusal, settings={name: {"length": most}})


def learn_tiers(refusal: Recognised) -> Patch | None:
    """The refusal lists the service tiers that there are."""
    asked, value = refusal.conversation.settings.service_tier, refusal.match["value"]
    if asked is None or (value is not None and value != asked):
        return None
    known = re.findall(r"'([\w-]{1,40})'", refusal.match["known"] or refusal.match["listed"])
    if asked in known or not known:
        return None
    return _correct(refusal, settings={"service_tier": {"values": known}})


def refuse_named_choice(refusal: Recognised) -> Patch | None:
    """No tools by their names."""
    known = refusal.facts.tool_choices
    left = [mode for mode in known if mode not in ("named", "allowed")]
    return {"tool_choices": left} if len(left) < len(known) else None


def without_settings(*names: str) -> Callable[[Recognised], Patch | None]:
    """Settings that are refused together."""
    return fixed(settings={name: {"support": REFUSES} for name in names})


def without_medium(kind: str, *ways: str) -> Callable[[Recognised], Patch | None]:
    """Media that is refused in these ways; without any, however it is given."""
    return fixed(media={kind: dict.fromkeys(ways or ("inline", "url"), REFUSES)})


def fewer_formats(refusal: Recognised) -> Patch | None:
    """No schema; and if that is refused too, no JSON."""
    known = refusal.facts.response_formats
    left = [one for one in known if one != ("schema" if "schema" in known else "json")]
    return {"response_formats": left} if len(left) < len(known) else None


def refuse_medium(refusal: Recognised) -> Patch | None:
    """Media in a part that the target does not have."""
    return without_medium(_MEDIA_PARTS[refusal.match["part"].lower()])(refusal)


_MEDIA_PARTS = {"image_url": "image", "video_url": "video", "input_audio": "audio", "file": "document"}


def other_limit(refusal: Recognised) -> Patch | None:
    return _correct(refusal, limit_name=refusal.match["wanted"])


def fewer_images(refusal: Recognised) -> Patch | None:
    """The refusal says how many pictures there may be."""
    most = int(refusal.match[refusal.match.lastindex or 0])
    if most < 1:
        return without_medium("image")(refusal)
    return _correct(refusal, media={"image": {"most": most}})


refuse_system = fixed(system_count="none")


def demand_signature(refusal: Recognised) -> Patch | None:
    """The value that skips the check; calls as text if that was refused before."""
    facts = refusal.facts
    if facts.call_signature is not Stance.REFUSES and facts.signature_skip and not facts.reasoning_trusted:
        return None if facts.flat_tools else {"flat_tools": True}
    return _SKIPPED if facts.call_signature is not Stance.REFUSES or not facts.signature_skip else None


def demand_turn_signature(refusal: Recognised) -> Patch | None:
    """The value that skips the check on the first part of each turn, and on each picture."""
    if refusal.facts.turn_signature is Stance.REFUSES:
        return None
    return {"turn_signature": REFUSES, "signature_skip": _SKIPPED["signature_skip"]}


def next_signature(refusal: Recognised) -> Patch | None:
    """The client's signatures were refused: the value that skips the check, then none, then calls as text."""
    facts = refusal.facts
    if facts.thought_in_id is not Stance.REFUSES or not facts.signature_skip:
        return {**_SKIPPED, "thought_in_id": REFUSES}
    if facts.call_signature is Stance.REFUSES:
        return {"call_signature": "accepts"}
    return None if facts.flat_tools else {"flat_tools": True}


_SKIPPED: Patch = {"call_signature": REFUSES, "signature_skip": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="}


def next_role(refusal: Recognised) -> Patch | None:
    """Gemini's two roles: the user opens, the system text to the opening, then roles that nobody knows, then the turns
    of tools."""
    facts, messages = refusal.facts, refusal.conversation.messages
    opening = refusal.conversation.opening
    if facts.first_turn is not Turn.USER and messages[opening:] and messages[opening].role is Role.ASSISTANT:
        return {"first_turn": "user"}
    if facts.system_place not in (SystemPlace.OPENING, SystemPlace.TOP_LEVEL):
        return {"system_place": "opening"}
    if facts.unknown_role is not Stance.REFUSES:
        return {"unknown_role": REFUSES}
    if not facts.flat_tools and any(message.role is Role.TOOL for message in messages):
        return {"flat_tools": True}
    return refuse_system(refusal)


def next_system(refusal: Recognised) -> Patch | None:
    """Only at the opening; if that is refused too, one of them; and then none at all."""
    if refusal.facts.system_place not in (SystemPlace.OPENING, SystemPlace.TOP_LEVEL):
        return {"system_place": "opening"}
    if refusal.facts.system_count is SystemCount.MANY:
        return {"system_count": "one"}
    return refuse_system(refusal)


def learn_efforts(refusal: Recognised) -> Patch | None:
    """The refusal lists the efforts that there are. What it says of another setting has the same words."""
    param, text = refusal.failure.param, refusal.match.string.lower()
    if "effort" not in param and (param or "invalid value" in text):
        return None
    efforts = [word for word in re.findall(r"[a-z]+", refusal.match["known"].lower()) if word in _EFFORTS]
    ordered = [effort for effort in _EFFORTS if effort in efforts]
    return {"efforts": ordered} if ordered and tuple(ordered) != refusal.facts.efforts else None


def other_levels(refusal: Recognised) -> Patch | None:
    """All that it knows but the one that the refusal names."""
    known = refusal.facts.efforts or _EFFORTS
    left = [effort for effort in known if effort != refusal.match["level"].lower()]
    return {"efforts": left} if len(left) < len(known) else None


def positive_budget(refusal: Recognised) -> Patch | None:
    """The greatest budget that there may be; a greatest one of 0 means that one was missing."""
    most = int(refusal.match["most"])
    if not most:
        return _correct(refusal, thinking_form="budget")
    return _correct(refusal, budget_min=1, budget_max=most)


def budget_range(refusal: Recognised) -> Patch | None:
    """The least and the greatest budget that there may be: thinking is asked for by budgets."""
    least, most = int(refusal.match["least"]), int(refusal.match["most"])
    return _correct(refusal, thinking_form="budget", budget_min=least, budget_max=most)


_EFFORTS = tuple(str(effort) for effort in Effort)


def refuse_words(refusal: Recognised) -> Patch | None:
    """The refusal names the words of a header that it does not know."""
    header = refusal.match["header"].lower()
    known = refusal.facts.refused_words.get(header, ())
    words = [word for word in refusal.match["words"].split("`") if word.strip(", ") and word not in known]
    return {"refused_words": {header: [*known, *words]}} if words else None


def no_betas(refusal: Recognised) -> Patch | None:
    known = refusal.facts.refused_words.get(_BETAS, ())
    return None if "*" in known else {"refused_words": {_BETAS: ["*"]}}


_BETAS = "anthropic-beta"


def openai_schema(refusal: Recognised) -> Patch | None:
    """OpenAI's words. Who has a form of its own does not get another."""
    known = refusal.facts.schema_form != "json-schema"
    return None if known else {"schema_form": "openai", "format_schema_form": "openai"}


def words_for_grammar(refusal: Recognised) -> Patch | None:
    """A server that makes a grammar of the schemas, and fails on one of them. It does not say on which."""
    form = {"schema_form": "grammar-words", "format_schema_form": "grammar-words"}
    return None if refusal.facts.schema_form == form["schema_form"] else form


def limited_schema(refusal: Recognised) -> Patch | None:
    """Claude's words for limits in the schema of an answer, from whoever passes them on."""
    known = refusal.facts.format_schema_form != "json-schema"
    return None if known else {"format_schema_form": "anthropic-answer"}


def proto_schema(refusal: Recognised) -> Patch | None:
    if refusal.facts.schema_form == "gemini-proto":
        return None
    return {"schema_form": "gemini-proto", "schema_as": "parameters"}


def stray_field(refusal: Recognised) -> Patch | None:
    """A server that refuses one unknown field of a message checks them all. Thinking has fields of its own. An older
    model may lack a field that the target is known to have."""
    patch: Patch = {}
    field = refusal.match["name"].rpartition(".")[2]
    if refusal.facts.unknown_fields is not Stance.REFUSES:
        patch["unknown_fields"] = REFUSES
    if field in CHAT_FIELDS and refusal.facts.reasoning_text is not Stance.REFUSES:
        patch["reasoning_text"] = REFUSES
    if field == StateKind.DETAIL and refusal.facts.reasoning_states:
        patch["reasoning_states"] = []
    if not patch:
        known = refusal.facts.message_fields
        left = {kind: [name for name in known[kind] if name.rpartition(".")[2] != field] for kind in known}
        fewer = {kind: names for kind, names in left.items() if len(names) < len(known[kind])}
        patch = {"message_fields": fewer} if fewer else {}
    return patch or None


def refuse_value(refusal: Recognised) -> Patch | None:
    """A setting with a value that the model does not take, by the name of the field or by the refusal's own."""
    name = (refusal.match.groupdict().get("name") or refusal.failure.param).rpartition(".")[2]
    if name == "summary":
        return refuse_summaries(refusal)
    if name in ("effort", "reasoning_effort"):
        return None
    return without_settings(_SETTINGS.get(name, name))(refusal) if name else None


refuse_summaries = fixed(thinking_summary=REFUSES, thoughts_on_request="none")


def refuse_state(refusal: Recognised) -> Patch | None:
    """It cannot seal its thoughts, whoever asked for that."""
    asks = refusal.facts.setting("reasoning_state").support is not Stance.REFUSES or refusal.facts.state_on_request
    patch: Patch = {"settings": {"reasoning_state": {"support": REFUSES}}, "state_on_request": False}
    return patch if asks else None


def other_effort_with_tools(refusal: Recognised) -> Patch | None:
    """Some tools do not work with an effort that the model has without them."""
    known = refusal.facts.efforts or _EFFORTS
    left = [effort for effort in known if effort not in (Effort.NONE, refusal.match["effort"].lower())]
    return {"efforts": left} if len(left) < len(known) else None


def refuse_named(refusal: Recognised) -> Patch | None:
    """The setting that the refusal names."""
    return without_settings(refusal.match["name"])(refusal)
