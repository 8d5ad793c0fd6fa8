"""The catalogue of facts: everything in which providers and models differ.

A fact is stated in a profile, with evidence. A rule is triggered by facts, never by a name. A fact that can be doubted
is a `Stance`: in the client's own dialect `unknown` triggers nothing, since the client may know better; if we
translate, `unknown` means careful. A fact about form alone is decided with care in both, since nothing is lost by it.
"""

# Annotations are evaluated where they stand: as texts, hundreds of them would be compiled at every start.
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dragoman.profiles.fact_questions import Asked, asked, form


class Stance(StrEnum):
    ACCEPTS = "accepts"
    REFUSES = "refuses"
    UNKNOWN = "unknown"
    """Nobody knows. In the client's own dialect it is taken as accepted, in a translation as refused."""
    TRIED = "tried"
    """Nobody knows, and it is taken as accepted in a translation too. Only a refusal of the target leads to care."""


ACCEPTS, REFUSES, UNKNOWN, TRIED = Stance.ACCEPTS, Stance.REFUSES, Stance.UNKNOWN, Stance.TRIED
"""The stances as plain names: a look-up in the enum costs many times as much, and every request needs some."""


class CachePlace(StrEnum):
    """Where a cache hint is of use."""

    NONE = "none"
    OPENING = "opening"
    FIRST_USER = "first-user"


class HintPlace(StrEnum):
    """Where in a turn a cache hint may stand, as far as targets differ."""

    DOCUMENT = "document"
    """On a document that is not a PDF."""
    THINKING = "thinking"
    FIRST = "first"
    """Before everything else of the turn."""


class CacheForm(StrEnum):
    """How a cache hint is written."""

    CONTROL = "control"
    """`cache_control`, or what a dialect has instead, with a lifetime of its own."""
    BREAKPOINT = "breakpoint"
    """`prompt_cache_breakpoint`, on input parts only; the end of the prompt is marked unasked."""


class CacheQuestionForm(StrEnum):
    """How a provider is asked why it missed its prompt cache."""

    NONE = "none"
    DIAGNOSTICS = "diagnostics"
    """By `diagnostics`, in every request of a session: it knows again only those that asked."""
    COMPARISON = "comparison"
    """By `prompt_cache_options.comparison_response_id`, the id of an answer that it stores."""


class SystemPlace(StrEnum):
    """Where a system message may stand."""

    ANYWHERE = "anywhere"
    AFTER_USER = "after-user"
    BEFORE_ANSWER = "before-answer"
    OPENING = "opening"
    TOP_LEVEL = "top-level"


class SystemCount(StrEnum):
    MANY = "many"
    ONE = "one"
    NONE = "none"


class CallContent(StrEnum):
    """What stands for the content of a turn that has nothing but calls."""

    ANY = "any"
    ABSENT = "absent"
    NULL = "null"
    EMPTY = "empty"


class Turn(StrEnum):
    """Whose turn the first or last one may be."""

    ANY = "any"
    USER = "user"


class Scope(StrEnum):
    """How far opaque reasoning state may travel."""

    MODEL = "model"
    FAMILY = "family"
    PROVIDER = "provider"
    ACCOUNT = "account"


class Need(StrEnum):
    """When reasoning must come back with a turn."""

    NEVER = "never"
    TOOL_TURNS = "tool-turns"
    """With every turn that calls tools."""
    TOOL_EXCHANGES = "tool-exchanges"
    """With every turn of the model between two of the user, if one of them calls tools: also with later words."""
    LAST_TOOL_TURN = "last-tool-turn"
    """The last turn that calls tools begins with it, if thinking has a budget."""


NEEDS_FILLED = (Need.TOOL_TURNS, Need.TOOL_EXCHANGES)
"""Needs that a filler satisfies."""


class ThinkingForm(StrEnum):
    """How a request asks a target to think."""

    ANY = "any"
    NONE = "none"
    EFFORT = "effort"
    BUDGET = "budget"
    ADAPTIVE = "adaptive"
    LEVEL = "level"
    SWITCH = "switch"
    OPTIONAL_BUDGET = "optional-budget"
    OPEN = "open"


class ThoughtRequest(StrEnum):
    """How a request asks a target to show its thoughts. `none`: they come unasked, or never."""

    NONE = "none"
    VISIBLE = "visible"
    SUMMARY = "summary"


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a target takes for one setting."""

    support: Stance = ACCEPTS
    min: float | None = None
    max: float | None = None
    only: float | None = None
    """That value and no other."""
    default: float | None = None
    """Its own default, which may be given even if the setting is refused."""
    values: tuple[str, ...] = ()
    thinking: Stance = ACCEPTS
    """Taken while it thinks?"""
    thinking_min: float | None = None
    """What is taken while it thinks all the same: this and more."""
    without: str = ""
    """A setting that may not be given too."""
    whole: bool = False
    """Whether fractions are refused, even `40.0`."""
    length: int = 0
    """The most characters (0: any number), of each value if the setting has pairs."""
    pairs: int = 0
    """The most pairs."""
    key_length: int = 0
    """The longest key of a pair."""
    anonymous: bool = False
    """Whether an e-mail address is refused."""


class Medium(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a target takes of one kind of media."""

    inline: Stance = ACCEPTS
    """As bytes."""
    url: Stance = ACCEPTS
    """By its URL."""
    stored: Stance = REFUSES
    """As a file that the provider stores."""
    plain: Stance = REFUSES
    """As plain text."""
    types: tuple[str, ...] = ()
    """The media types; empty: any."""
    refused_types: tuple[str, ...] = ()
    """Globs of media types that are refused, if any other is taken."""
    user: Stance = ACCEPTS
    """In a turn of the user."""
    assistant: Stance = REFUSES
    """In a turn of the model."""
    system: Stance = REFUSES
    """In a system message."""
    result: Stance = REFUSES
    """In a tool's result."""
    schemes: tuple[str, ...] = ()
    """The schemes of the URLs that are taken; empty: any."""
    sites: tuple[str, ...] = ()
    """What URLs begin with that are taken, whatever `url` says."""
    stored_result: bool = False
    """A stored file inside a result, whatever `stored` says."""
    most: int = 0
    """How many of them a request may hold (0: any number)."""

    def takes_url(self, url: str) -> bool:
        if url.startswith(self.sites):
            return True
        return self.url is not REFUSES and (not self.schemes or url.partition(":")[0] in self.schemes)


NO_MEDIUM = Medium(inline=REFUSES, url=REFUSES)


@cache
def fact_types() -> Mapping[str, Any]:
    """The type of each fact, in their order. It takes long to evaluate all annotations, so it is done once."""
    return {field.name: field.type for field in msgspec.structs.fields(Facts)}


def declarations() -> dict[str, Meta]:
    """What is declared of each fact, in their order."""
    found = {name: getattr(kind, "__metadata__", ()) for name, kind in fact_types().items()}
    return {name: metas[0] if metas else Meta() for name, metas in found.items()}


def list_questions() -> dict[str, Asked]:
    """How each fact that a conversation can ask for is asked for, in their order."""
    extras = {name: meta.extra or {} for name, meta in declarations().items()}
    return {name: extra["asked"] for name, extra in extras.items() if "asked" in extra}


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every fact with its default: what a lenient server of the target's dialect would take."""

    # identity
    dialect: Annotated[str, Meta(description="the wire format")] = ""
    provider: Annotated[str, Meta(description="who issues opaque state: a signature goes back only to its issuer")] = ""
    family: Annotated[str, Meta(description="models that read each other's reasoning state")] = ""
    model: Annotated[str, Meta(description="the model asked for")] = ""

    # place
    system_place: Annotated[SystemPlace, Meta(description="where a system message may stand")] = SystemPlace.ANYWHERE
    late_system: Annotated[Stance, Meta(description="follows a system message after the first turn")] = ACCEPTS
    system_count: Annotated[SystemCount, Meta(description="how many system messages may open")] = SystemCount.MANY
    system_parts: Annotated[Stance, asked("a system message of several parts", "system [Be brief.|Be polite.]")] = (
        ACCEPTS
    )
    inline_system: Annotated[
        Stance, asked("the opening system text among the messages", "system Be calm.", often=True)
    ] = ACCEPTS
    developer_role: Annotated[Stance, asked("the role `developer`", "developer Be exact.")] = UNKNOWN
    unknown_role: Annotated[
        Stance, asked("a role that is not in its list", "user; narrator It rains.; assistant", often=True)
    ] = REFUSES

    # shape
    first_turn: Annotated[
        Turn,
        asked(
            "whose turn the first one must be",
            "assistant Welcome.",
            also=("system Rule; assistant First; user Last", "assistant First"),
            values=("any", "user"),
        ),
    ] = Turn.ANY
    last_turn: Annotated[
        Turn,
        asked(
            "whose turn the last one must be (user: no prefill)",
            "user; assistant The answer is; end",
            values=("any", "user"),
            words=("prefill",),
        ),
    ] = Turn.ANY
    repeated_roles: Annotated[
        Stance, asked("two turns of one role in a row", "user One.; user Two.; assistant Three.; assistant Four.")
    ] = ACCEPTS
    repeated_last: Annotated[
        Stance,
        asked(
            "two assistant turns at the end",
            "user; assistant The answer; assistant is; end",
            after=("repeated-roles", "last-turn"),
        ),
    ] = ACCEPTS
    user_after_tool: Annotated[
        Stance,
        asked(
            "a user turn right after tool results",
            "user; call a; result a; user; assistant",
            also=("user; call a; result a; user Last",),
        ),
    ] = ACCEPTS
    system_only: Annotated[
        Stance, asked("nothing but system messages", "system Say hello.; end", also=("+tools; system Say hello.",))
    ] = UNKNOWN
    no_user: Annotated[
        Stance,
        asked("turns of the model, and none of the user's", "assistant Hello.; end", after=("first-turn", "last-turn")),
    ] = ACCEPTS
    mixed_parts: Annotated[Stance, Meta(description="thinking, texts and calls of one turn in any order")] = ACCEPTS
    text_after_call: Annotated[
        Stance, asked("text after a call in one turn", "user; call a > I look.; result a; assistant")
    ] = ACCEPTS
    text_beside_calls: Annotated[
        Stance,
        asked(
            "text and calls in one turn",
            "user; call a: Let me see.; result a; assistant",
            also=("user; call a: Spoken; result a",),
        ),
    ] = ACCEPTS

    # content
    empty_user: Annotated[Stance, asked("a user turn of empty text", 'user ""; assistant', also=('user ""',))] = UNKNOWN
    empty_assistant: Annotated[
        Stance, asked("an assistant turn of empty text, no calls", 'user; assistant ""', often=True)
    ] = UNKNOWN
    empty_system: Annotated[Stance, asked("a system message of empty text", 'system ""')] = UNKNOWN
    empty_system_block: Annotated[Stance, Meta(description="a list with an empty text as the system text")] = ACCEPTS
    list_content: Annotated[
        Stance, asked("text content spelled as a list of parts", "user [Good morning.]; assistant", form=True)
    ] = ACCEPTS
    several_texts: Annotated[
        Stance, asked("a list of texts where one string would say the same", "user [Good|evening.]; assistant")
    ] = ACCEPTS
    empty_beside: Annotated[
        Stance, asked("an empty text beside other parts", 'user [Good night.|""]; assistant', after=("several-texts",))
    ] = UNKNOWN
    blank_text: Annotated[
        Stance,
        asked(
            "text of nothing but white space, alone",
            'user " "; assistant',
            also=('user " "; assistant "\n"; user Last',),
        ),
    ] = UNKNOWN
    no_parts: Annotated[
        Stance,
        asked(
            "a message without content (null, or an empty list)",
            "user; assistant -",
            also=("user; assistant []; user Last",),
            often=True,
        ),
    ] = UNKNOWN
    no_user_parts: Annotated[
        Stance,
        asked("a message of the user or the system without content", "user -; assistant", also=("user -",), often=True),
    ] = UNKNOWN
    trailing_space: Annotated[
        Stance,
        asked(
            "white space at the end of a last assistant turn",
            'user; assistant "The answer is "; end',
            after=("last-turn",),
        ),
    ] = UNKNOWN
    string_content: Annotated[Stance, form("text content spelled as a string")] = ACCEPTS
    call_content: Annotated[
        CallContent, Meta(description="what must stand for the content of a turn of nothing but calls")
    ] = CallContent.ANY
    absent_content: Annotated[
        Stance, Meta(description="an assistant's turn that neither calls nor has the member `content`")
    ] = ACCEPTS
    refused_blocks: Annotated[
        tuple[str, ...], Meta(description="kinds of its dialect's further parts that it refuses")
    ] = ()
    block_actions: Annotated[
        Mapping[str, tuple[str, ...]],
        Meta(description="types of `action` that it knows in such a part, by its kind (not named: any)"),
    ] = {}
    refusal_part: Annotated[Stance, Meta(description="a refusal apart from text")] = ACCEPTS
    citation_part: Annotated[Stance, Meta(description="citations sent back")] = ACCEPTS
    media: Annotated[
        Mapping[str, Medium], Meta(description="image, audio, document, video: as bytes, by URL, in which turns")
    ] = {}
    media_detail: Annotated[Stance, Meta(description="the level of detail of an image")] = REFUSES
    detail_levels: Annotated[tuple[str, ...], Meta(description="levels of detail that it knows (globs)")] = ("*",)
    media_apart: Annotated[
        bool, Meta(description="a message holds one text, and media before it in a list of their own")
    ] = False
    result_text_first: Annotated[
        bool, Meta(description="a result holds texts, and media after them in a list of their own")
    ] = False
    block_kinds: Annotated[tuple[str, ...], Meta(description="kinds of its dialect's further parts (globs)")] = ("*",)
    paired_blocks: Annotated[
        tuple[str, ...],
        Meta(
            description="kinds of its dialect's further parts, calls or results, that it takes in pairs alone (globs)"
        ),
    ] = ()
    lone_blocks: Annotated[
        tuple[str, ...],
        Meta(description="kinds of its dialect's further parts that may be all that a message says (globs)"),
    ] = ("*",)
    media_forms: Annotated[
        tuple[str, ...],
        Meta(
            description="further shapes of media: document_url, bare (a URL as text), untitled, headless (no data URL),"
            " untyped (an address without a media type),"
            " sound_url (a sound as a data URL), images (beside the content)"
        ),
    ] = ("*",)
    vendor_forms: Annotated[
        Mapping[str, str],
        Meta(description="the shape in which it takes the bytes of a kind of media, if it is not its dialect's own"),
    ] = {}
    titled_media: Annotated[
        tuple[str, ...],
        Meta(description="kinds of media whose parts have a name; `document-url`: documents that are given by URL"),
    ] = ("document", "document-url")
    title_fields: Annotated[
        Mapping[str, str], Meta(description="members that hold the name of a medium beside its URL, by kind of media")
    ] = {}
    document_title_pattern: Annotated[
        str, Meta(description="form of a document's name (regular expression; empty: any)")
    ] = ""
    mistyped_media: Annotated[Stance, Meta(description="a picture whose bytes are of another type than it says")] = (
        UNKNOWN
    )
    error_media: Annotated[Stance, Meta(description="media in a result that is marked as an error")] = ACCEPTS
    duplicate_titles: Annotated[Stance, Meta(description="a name that two documents of a request share")] = ACCEPTS
    lone_document: Annotated[Stance, Meta(description="a user turn of documents without a text")] = ACCEPTS
    duplicate_documents: Annotated[Stance, Meta(description="an id that two documents of a request share")] = ACCEPTS
    system_blocks: Annotated[
        tuple[str, ...], Meta(description="kinds of its dialect's further parts that a system message may hold")
    ] = ()
    native_blocks: Annotated[Stance, Meta(description="the dialect's own server-tool blocks and the like")] = ACCEPTS

    # schema
    off_schema: Annotated[
        Stance, Meta(description="what does not fit the published schema of its dialect (refuses: it validates)")
    ] = UNKNOWN
    near_misses: Annotated[
        tuple[str, ...], Meta(description="kinds of near misses that it takes although it validates")
    ] = ()
    refused_near_misses: Annotated[
        tuple[str, ...], Meta(description="kinds of near misses that it refuses although it may take others")
    ] = ()

    # fields
    unknown_fields: Annotated[
        Stance, asked("message fields that the dialect does not know", "user @x_note=1; assistant", often=True)
    ] = UNKNOWN
    message_fields: Annotated[
        Mapping[str, tuple[str, ...]],
        Meta(description="extra fields it takes, or `field=value`, per role, `ROLE.parts`, `calls`, `tools` or `*`"),
    ] = {}
    part_fields: Annotated[
        Stance,
        asked("fields of a part that its type does not have", "user [Good day. @x_mark=1]; assistant", often=True),
    ] = ACCEPTS
    change_report: Annotated[
        str, Meta(description="the member of its answers in which it reports what it changed in a request")
    ] = ""
    refused_part_fields: Annotated[
        Mapping[str, tuple[str, ...]],
        Meta(
            description="fields that it refuses although its dialect has them: of texts in turns of a role (`user`), "
            "or of thinking (`reasoning`)"
        ),
    ] = {}
    empty_calls: Annotated[Stance, form("an empty list of tool calls, or null for it")] = ACCEPTS
    prefill_mark: Annotated[Stance, Meta(description="the mark on a last assistant turn that asks to continue it")] = (
        UNKNOWN
    )
    prefill_unmarked: Annotated[bool, Meta(description="a last assistant turn is continued without a mark")] = False
    prefill_as: Annotated[str, Meta(description="the name of that mark")] = ""
    prefill_settings: Annotated[
        Mapping[str, bool], Meta(description="settings that ask for the same, for a target without the mark")
    ] = {}
    message_name: Annotated[
        Stance, asked("`name` on user, system and assistant messages", "user @name=ann; assistant")
    ] = ACCEPTS
    message_name_pattern: Annotated[str, Meta(description="form of that name (regular expression; empty: any)")] = ""
    result_name: Annotated[Stance, form("the name of its tool on a result")] = ACCEPTS
    unknown_settings: Annotated[Stance, Meta(description="top-level fields that the dialect does not know")] = ACCEPTS
    known_settings: Annotated[tuple[str, ...], Meta(description="extra top-level fields it takes")] = ()
    shared_settings: Annotated[
        Mapping[str, tuple[str, ...]],
        Meta(
            description="top-level fields that it has under the same name as another dialect, by that dialect: whole, "
            "or `name.member` and `name.member=value` for what it takes of one"
        ),
    ] = {}
    shared_document_fields: Annotated[
        Mapping[str, tuple[str, ...]],
        Meta(description="fields of a document that it has under the same name as another dialect, by that dialect"),
    ] = {}
    refused_settings: Annotated[
        tuple[str, ...], Meta(description="extra top-level fields it refuses, or `field=value`")
    ] = ()
    tool_settings: Annotated[
        Mapping[str, tuple[str, ...]],
        Meta(description="extra top-level fields whose ids it takes only beside a tool of these kinds"),
    ] = {}
    vendor_settings: Annotated[
        tuple[str, ...], Meta(description="top-level fields that single vendors of the dialect added to it")
    ] = ()
    vendor_fields: Annotated[
        tuple[str, ...],
        Meta(description="fields of messages, parts, calls and tools that single vendors of the dialect added to it"),
    ] = ()
    foreign_settings: Annotated[Stance, Meta(description="fields that other vendors added to the dialect")] = ACCEPTS
    refused_words: Annotated[
        Mapping[str, tuple[str, ...]],
        Meta(description="by header, words of the client's that it refuses there (globs)"),
    ] = {}
    field_patterns: Annotated[
        Mapping[str, str],
        Meta(description="form of further top-level fields that hold a text (regular expression)"),
    ] = {}
    null_settings: Annotated[Stance, form("null for an optional top-level key")] = ACCEPTS

    # calls and results
    call_id_pattern: Annotated[str, Meta(description="form of a tool call's id (regular expression; empty: any)")] = ""
    odd_call_id: Annotated[Stance, form("an id of another form")] = REFUSES
    thought_in_id: Annotated[Stance, Meta(description="a thought signature in the tail of a call's id")] = UNKNOWN
    call_id_length: Annotated[int, Meta(description="length of the ids we make if one does not fit")] = 24
    tool_name_pattern: Annotated[str, Meta(description="form of a tool's name (regular expression; empty: any)")] = ""
    tool_name_length: Annotated[int, asked("greatest length of a tool's name", tools="l" * 65, values=(128, 64))] = 64
    bad_arguments: Annotated[
        Stance,
        asked("arguments that are no JSON object", "user; call a!; result a; assistant", words=("arguments", "args")),
    ] = UNKNOWN
    parallel_calls: Annotated[
        Stance,
        asked(
            "several calls in one turn", "user; call a b; result a b; assistant", also=("user; call a b; result a b",)
        ),
    ] = ACCEPTS
    calls_max: Annotated[int, Meta(description="how many calls one turn may have (0: any number)")] = 0
    duplicate_ids: Annotated[
        Stance,
        asked(
            "one call id in two turns",
            "user; call a; result a; assistant; user; call a; result a; assistant",
            form=True,
        ),
    ] = UNKNOWN
    call_ids: Annotated[Stance, Meta(description="an id on a call and on its result")] = ACCEPTS
    duplicate_ids_in_turn: Annotated[
        Stance, asked("one call id twice in a turn", "user; call a a; result a a; assistant", form=True)
    ] = REFUSES
    orphan_result: Annotated[
        Stance,
        asked(
            "a result whose call is not there",
            "user; assistant; result a; assistant",
            also=("+tools; user; result a; user Last",),
            often=True,
        ),
    ] = REFUSES
    missing_result: Annotated[
        Stance,
        asked("a call whose result is not there", "user; call a; user; assistant", also=("user; call a",), often=True),
    ] = REFUSES
    late_result: Annotated[
        Stance,
        asked(
            "something between a call and its result",
            "user; call a; user; result a; assistant",
            also=("user; call a; user Middle; result a",),
            often=True,
        ),
    ] = REFUSES
    calls_apart: Annotated[
        Stance,
        asked(
            "calls of one turn in several messages, answered after them",
            "user; call a; call b; result a b; assistant",
            also=("user; call a; call b; result a b",),
            after=("repeated-roles",),
        ),
    ] = REFUSES
    repeated_result: Annotated[
        Stance,
        asked(
            "two results of one call",
            "user; call a; result a a; assistant",
            also=("user; call a; result a a",),
            often=True,
        ),
    ] = REFUSES
    result_order: Annotated[
        Stance,
        asked(
            "results in another order than their calls",
            "user; call a b; result b a; assistant",
            also=("user; call a b; result b a",),
        ),
    ] = ACCEPTS
    misnamed_result: Annotated[Stance, Meta(description="a result under another name than its call")] = ACCEPTS
    result_error: Annotated[Stance, Meta(description="a result marked as an error")] = ACCEPTS
    custom_tools: Annotated[Stance, Meta(description="tools that take plain text")] = REFUSES
    legacy_calls: Annotated[Stance, form("`functions`, `function_call` and the role `function`")] = ACCEPTS
    flat_tools: Annotated[bool, Meta(description="calls and results only as text (some Gemini proxies)")] = False

    # reasoning
    reasoning_text: Annotated[Stance, Meta(description="thinking sent back without a signature")] = UNKNOWN
    reasoning_field: Annotated[str, Meta(description="the field for thinking, if a dialect has several")] = ""
    odd_reasoning_field: Annotated[Stance, form("thinking in another field than `reasoning_field`")] = UNKNOWN
    reasoning_states: Annotated[
        tuple[str, ...], Meta(description="kinds of opaque reasoning state it issues and takes")
    ] = ()
    shared_states: Annotated[
        tuple[str, ...], Meta(description="kinds of that state that it takes from other platforms of the same models")
    ] = ()
    reasoning_scope: Annotated[Scope, Meta(description="how far that state may travel")] = Scope.PROVIDER
    state_pattern: Annotated[
        str,
        Meta(description="form of the first 256 characters of its encrypted state (regular expression; empty: any)"),
    ] = ""
    state_format: Annotated[
        str,
        Meta(
            description="the `format` of the entries of `reasoning_details` that it made (glob; empty: any). If it has"
            " one, the value that skips the check of a signature stands in such an entry"
        ),
    ] = ""
    routed_state: Annotated[
        bool, Meta(description="it takes state back with the route that a router put behind it (`….eyJ…`)")
    ] = False
    reasoning_trusted: Annotated[bool, Meta(description="its own reasoning state is valid")] = True
    item_ids: Annotated[
        Mapping[str, str], Meta(description="how the ids of items begin: reasoning, call, message")
    ] = {}
    kept_items: Annotated[Stance, Meta(description="items that it keeps, by their ids (if it has `item_ids`)")] = (
        ACCEPTS
    )
    lone_reasoning: Annotated[Stance, Meta(description="thinking at the end of an assistant's turn")] = ACCEPTS
    empty_thinking: Annotated[Stance, Meta(description="signed thinking without its text")] = ACCEPTS
    reasoning_required: Annotated[Need, Meta(description="when thinking must come back")] = Need.NEVER
    reasoning_kept: Annotated[
        bool, Meta(description="thinking that a client of its own dialect leaves out is put back")
    ] = False
    reasoning_default: Annotated[bool, Meta(description="it thinks unless the request turns it off")] = False
    call_signature: Annotated[Stance, Meta(description="a call of the current turn without a signature")] = ACCEPTS
    past_signature: Annotated[Stance, Meta(description="a call of an earlier turn without a signature")] = UNKNOWN
    turn_signature: Annotated[
        Stance, Meta(description="a turn of the model whose first text, or a picture in it, has no signature")
    ] = ACCEPTS
    signed_media: Annotated[bool, Meta(description="a picture of the model's turn may have a signature")] = False
    last_text_signed: Annotated[
        bool, Meta(description="one signature for the texts of an assistant's turn, on the last of them")
    ] = False
    signature_skip: Annotated[str, Meta(description="documented value for calls that another model made")] = ""

    cache_place: Annotated[CachePlace, Meta(description="where a cache hint is of use, if anywhere")] = CachePlace.NONE
    cache_minimum: Annotated[int, Meta(description="the fewest tokens of a prompt that a provider caches")] = 1024
    cache_form: Annotated[
        CacheForm,
        Meta(description="how a cache hint is written: `cache_control`, or a breakpoint on an input part"),
    ] = CacheForm.CONTROL
    session_field: Annotated[
        str,
        Meta(description="the field, or the header (`x-…`), by whose value a session's requests find the same cache"),
    ] = ""
    cache_question: Annotated[CacheQuestionForm, Meta(description="how it is asked why it missed its prompt cache")] = (
        CacheQuestionForm.NONE
    )
    cost_header: Annotated[str, Meta(description="the header that says what an answer cost")] = ""

    # tools
    tools: Annotated[Stance, Meta(description="tools at all")] = ACCEPTS
    tool_wrapper: Annotated[str, Meta(description="shape of a tool entry, if it is not the dialect's own")] = ""
    tool_ladder: Annotated[
        tuple[str, ...], Meta(description="shapes to try one after the other if a tool's shape is refused")
    ] = ()
    tools_last_resort: Annotated[
        bool, Meta(description="as a last resort after a tool's answer, ask again without tools")
    ] = False
    tool_wrappers: Annotated[tuple[str, ...], Meta(description="further shapes that it takes")] = ()
    schema_form: Annotated[str, Meta(description="the schema dialect of tool arguments")] = "json-schema"
    format_schema_form: Annotated[str, Meta(description="the schema dialect of structured output")] = "json-schema"
    schema_form_in: Annotated[
        Mapping[str, str], Meta(description="the schema dialect of single fields for a schema, if it is another")
    ] = {}
    tools_without_schema: Annotated[
        Stance, asked("a tool without a schema of its arguments", tools="bare_lookup -", words=("parameters",))
    ] = ACCEPTS
    schema_moves: Annotated[
        bool,
        Meta(description="a schema that would allow other values in the field it came in is given in the general one"),
    ] = False
    schema_as: Annotated[str, Meta(description="field for the schema, if a dialect has several")] = ""
    strict_tools: Annotated[Stance, Meta(description="the `strict` mark on a tool")] = ACCEPTS
    mixed_strict: Annotated[Stance, Meta(description="strict tools beside tools that are not")] = ACCEPTS
    strict_max: Annotated[int, Meta(description="how many strict tools it takes (0: any number)")] = 0
    strict_optional_max: Annotated[int, Meta(description="how many optional fields they may have in all")] = 0
    strict_optional: Annotated[Stance, Meta(description="fields that may be left out in a strict tool")] = ACCEPTS
    empty_required: Annotated[Stance, Meta(description="an empty list of required fields in a schema")] = UNKNOWN
    strict_union_max: Annotated[int, Meta(description="how many fields of several types they may have in all")] = 0
    tool_references: Annotated[
        Mapping[str, str], Meta(description="blocks that name a tool, which must be declared: the member with its name")
    ] = {}
    undeclared_tools: Annotated[Stance, Meta(description="calls in the history, no tools declared")] = ACCEPTS
    empty_description: Annotated[
        Stance, asked("a tool with an empty description", tools='silent_lookup ""', words=("description",))
    ] = ACCEPTS
    tools_without_description: Annotated[Stance, Meta(description="a tool without a description")] = ACCEPTS
    empty_tools: Annotated[Stance, form("an empty list of tools")] = UNKNOWN
    duplicate_tools: Annotated[
        Stance, asked("two tools of one name", tools="twin; twin", words=("unique", "duplicate"))
    ] = ACCEPTS
    tools_max: Annotated[int, Meta(description="how many tools it takes (0: any number)")] = 0
    native_tools: Annotated[
        tuple[str, ...], Meta(description="kinds of its own tools (globs; after `!` those that it lacks)")
    ] = ("*",)
    provider_tools: Annotated[
        Mapping[str, str],
        Meta(description="its own tool that does what others run, by what it does (`web-search`, `code` and so on)"),
    ] = {}
    refused_tool_fields: Annotated[
        tuple[str, ...], Meta(description="members of its own tools that it refuses (`web_search.user_location`)")
    ] = ()
    mixed_tools: Annotated[Stance, Meta(description="its own tools beside functions")] = ACCEPTS
    mixed_tools_flag: Annotated[str, Meta(description="the setting with which it takes both")] = ""
    mixed_kinds: Annotated[
        tuple[str, ...], Meta(description="its own tools that it takes beside functions in any case, without a setting")
    ] = ()
    forced_provider_tool: Annotated[Stance, Meta(description="a forced choice, if all tools are its own")] = REFUSES

    # settings
    settings: Annotated[Mapping[str, Setting], Meta(description="each setting: supported, range, values")] = {}
    limit_name: Annotated[str, Meta(description="name of the token limit, if a dialect has several")] = ""
    two_limits: Annotated[Stance, Meta(description="a token limit under both of its names")] = ACCEPTS
    limit_required: Annotated[bool, Meta(description="a token limit must be given")] = False
    limit_default: Annotated[int, Meta(description="the token limit we give if one is required")] = 4096
    seed_name: Annotated[str, Meta(description="name of the seed, if a dialect has several")] = ""
    stop_max: Annotated[int, Meta(description="how many stop sequences it takes (0: any number)")] = 0
    empty_stop: Annotated[Stance, Meta(description="an empty stop sequence")] = ACCEPTS
    blank_stop: Annotated[Stance, Meta(description="a stop sequence of nothing but white space")] = ACCEPTS
    response_formats: Annotated[tuple[str, ...], Meta(description="text, json, schema")] = ("text", "json", "schema")
    format_with_tools: Annotated[Stance, Meta(description="JSON or a schema for the answer beside tools")] = ACCEPTS
    format_with_documents: Annotated[
        Stance, Meta(description="JSON or a schema for the answer beside documents of the request")
    ] = ACCEPTS
    streams: Annotated[Stance, Meta(description="answers as streams")] = ACCEPTS
    thinking_whole: Annotated[Stance, Meta(description="thinking in an answer that is no stream")] = ACCEPTS
    tools_streamed: Annotated[Stance, Meta(description="tools in a request for a stream")] = ACCEPTS
    logprobs_streamed: Annotated[Stance, Meta(description="log probabilities beside tools in a stream")] = ACCEPTS
    format_streamed: Annotated[Stance, Meta(description="a schema for the answer of a stream")] = ACCEPTS
    format_without_schema: Annotated[Stance, Meta(description="JSON by a schema that is not given")] = ACCEPTS
    format_labels: Annotated[Stance, Meta(description="a name and a description of the answer's schema")] = ACCEPTS
    format_name_pattern: Annotated[
        str, Meta(description="form of the name of the answer's schema (regular expression; empty: any)")
    ] = ""
    json_word: Annotated[Stance, Meta(description="JSON asked for while no message says the word")] = ACCEPTS
    tool_choices: Annotated[tuple[str, ...], Meta(description="auto, validated, none, required, named, allowed")] = (
        "auto",
        "none",
        "required",
        "named",
        "allowed",
    )
    odd_choice: Annotated[Stance, form("a tool choice in another vendor's words (`any`)")] = UNKNOWN
    odd_choices: Annotated[
        tuple[str, ...], Meta(description="other vendors' forms of a tool choice that it takes nevertheless")
    ] = ()
    choice_without_tools: Annotated[Stance, form("a tool choice where no tools are declared")] = UNKNOWN
    forced_choice_thinking: Annotated[Stance, Meta(description="a forced tool choice while it thinks")] = ACCEPTS
    forced_choice_budget: Annotated[Stance, Meta(description="a forced tool choice beside a thinking budget")] = ACCEPTS
    thinking: Annotated[Stance, Meta(description="being asked to think, in whatever form")] = ACCEPTS
    thinking_off: Annotated[Stance, Meta(description="being asked not to think")] = ACCEPTS
    thinking_form: Annotated[ThinkingForm, Meta(description="how a request asks it to think")] = ThinkingForm.ANY
    thinking_as: Annotated[str, Meta(description="the fields that ask it to think, if a dialect has several")] = ""
    thinking_visible: Annotated[Stance, Meta(description="a setting for whether thoughts are shown")] = REFUSES
    thinking_summary: Annotated[Stance, Meta(description="a setting for the kind of summary of thoughts")] = REFUSES
    thoughts_on_request: Annotated[
        ThoughtRequest, Meta(description="the setting without which it does not show its thoughts")
    ] = ThoughtRequest.NONE
    state_on_request: Annotated[
        bool, Meta(description="it gives the encrypted state of its thinking only when it is asked")
    ] = False
    thinking_apart: Annotated[
        str, Meta(description="the field that asks for thinking apart from the text, which has it between tags else")
    ] = ""
    odd_thinking_field: Annotated[Stance, Meta(description="a request to think in other fields than `thinking_as`")] = (
        UNKNOWN
    )
    efforts: Annotated[tuple[str, ...], Meta(description="efforts it knows (empty: all)")] = ()
    budget_min: Annotated[int, Meta(description="least thinking budget")] = 0
    budget_max: Annotated[int, Meta(description="greatest thinking budget (0: any)")] = 0
    dynamic_budget: Annotated[Stance, Meta(description="a thinking budget of -1: the model decides")] = ACCEPTS
    budget_below_limit: Annotated[bool, Meta(description="a thinking budget must be less than the token limit")] = False
    tools_with_effort: Annotated[Stance, Meta(description="function tools beside a reasoning effort")] = ACCEPTS

    # the rest
    vendor_header: Annotated[
        Stance, Meta(description="a system text that is a header for a vendor (`x-anthropic-billing-header: …`)")
    ] = ACCEPTS
    compaction: Annotated[
        tuple[str, ...],
        Meta(description="how it compacts conversations by itself: now (when asked), threshold, endpoint"),
    ] = ()
    instructions_with_previous: Annotated[
        Stance, Meta(description="instructions beside the id of an earlier answer")
    ] = ACCEPTS
    served_here: Annotated[
        bool, Meta(description="this API of its provider serves the model; if not, its other one does (`twin`)")
    ] = True
    sockets: Annotated[bool, Meta(description="it answers turns over a WebSocket, at the path of its answers")] = False
    cache_hints: Annotated[Stance, Meta(description="cache hints on parts, tools and messages")] = ACCEPTS
    cache_scope: Annotated[Stance, Meta(description="a `scope` in a cache hint")] = ACCEPTS
    deferred_hint: Annotated[
        Stance, Meta(description="a cache hint on a tool that is loaded once a search has found it")
    ] = ACCEPTS
    all_deferred: Annotated[Stance, Meta(description="tools that are all loaded only once a search has found them")] = (
        ACCEPTS
    )
    late_long_hint: Annotated[Stance, Meta(description="a cache hint of an hour after one of five minutes")] = ACCEPTS
    cache_hints_in_results: Annotated[bool, Meta(description="cache hints on the parts of a tool's result")] = True
    cache_hints_on_messages: Annotated[bool, Meta(description="cache hints on messages, beside their content")] = True
    cache_hints_on_tools: Annotated[bool, Meta(description="cache hints on tools")] = True
    cache_hint_whole: Annotated[bool, Meta(description="a cache hint for the whole request")] = True
    unhinted_places: Annotated[
        tuple[HintPlace, ...],
        Meta(description="where it takes no cache hint: on a document other than a PDF, on thinking, before all else"),
    ] = ()
    cache_hint_max: Annotated[int, Meta(description="how many of them (0: any number)")] = 0
    stream_usage: Annotated[Stance, Meta(description="`stream_options.include_usage`")] = ACCEPTS
    complete_answers: Annotated[
        bool, Meta(description="its answers have every member that the published types of their dialect require")
    ] = False
    think_tags: Annotated[bool, Meta(description="its answers carry thinking in <think> tags")] = False
    thinking_parts: Annotated[
        bool,
        Meta(description="its answers carry thinking among the parts of the content, which its dialect has as a text"),
    ] = False
    drops: Annotated[
        tuple[str, ...],
        Meta(
            description="what it takes and leaves out of the prompt: tools, tool-descriptions, reasoning and the like"
        ),
    ] = ()
    context_window: Annotated[int, Meta(description="tokens of context (0: not known)")] = 0
    output_limit: Annotated[int, Meta(description="greatest token limit of an answer (0: not known)")] = 0
    above_output_limit: Annotated[Stance, Meta(description="a token limit above `output_limit`")] = UNKNOWN

    def medium(self, kind: str) -> Medium:
        return self.media.get(kind, NO_MEDIUM)

    def setting(self, name: str) -> Setting:
        return self.settings.get(name, ANY_SETTING)


ANY_SETTING = Setting()
