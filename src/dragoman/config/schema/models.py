"""`models` and `overrides`: the names that clients use, and what is special about a model."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from dragoman.config.schema.amounts import Amount, Positive
from dragoman.config.schema.history import HistoryConfig
from dragoman.config.schema.repairs import CacheChoice, MaxLoss, RuleChoice, Synthetic
from dragoman.engine.exchange.destination import AnswerMembers, AnswerModel, ShownReasoning
from dragoman.engine.history.trim_policy import TokenLimit
from dragoman.profiles.doubts import Doubt


class ReasoningMode(StrEnum):
    """What a model is told about thinking."""

    OMIT = "omit"
    ENABLE = "enable"
    DISABLE = "disable"


class FallbacksOn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fallbacks for one reason of failure. They are tried before the general `fallbacks`."""

    context_length: Annotated[tuple[str, ...], Meta(description="If the conversation is too long for the target.")] = ()
    content_filter: Annotated[tuple[str, ...], Meta(description="If the provider's content filter refuses it.")] = ()
    rate_limit: Annotated[tuple[str, ...], Meta(description="If the provider answers 429.")] = ()


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, per million tokens, in the currency that you count in."""

    input: Annotated[float, Meta(ge=0, description="Tokens of the request.", examples=[3])]
    output: Annotated[float, Meta(ge=0, description="Tokens of the answer, thinking included.", examples=[15])]
    cached: Annotated[
        Amount | None, Meta(description="Tokens of the request read from the provider's cache; as `input`.")
    ] = None
    written: Annotated[
        Amount | None, Meta(description="Tokens of the request written to the provider's cache; as `input`.")
    ] = None
    audio: Annotated[Amount | None, Meta(description="Tokens of the request that are sound; as `input`.")] = None
    stored: Annotated[
        Amount | None,
        Meta(description="Tokens that the provider keeps for an hour in an explicit cache; none are, without it."),
    ] = None


class WhenFull(StrEnum):
    """What happens to a request that its target has no room for."""

    QUEUE = "queue"
    REFUSE = "refuse"


class ModelRateLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gateway sends to one target at most, so that its provider need not refuse anything."""

    requests_per_minute: Annotated[
        Positive | None, Meta(description="Requests in any 60 seconds, retries too.", examples=[60])
    ] = None
    input_tokens_per_minute: Annotated[
        Positive | None, Meta(description="Tokens of requests in any 60 seconds, cached ones too.")
    ] = None
    output_tokens_per_minute: Annotated[Positive | None, Meta(description="Tokens of answers in any 60 seconds.")] = (
        None
    )
    output_reserve: Annotated[
        int,
        Meta(
            ge=0,
            description="A request is sent only if so many output tokens are left, or as many as it may use at "
            "most. They are booked until its real output is known.",
        ),
    ] = 1024
    when_full: Annotated[
        WhenFull,
        Meta(
            description="`queue`: requests wait for their turn, then the fallbacks are tried; `refuse`: the fallbacks "
            "are tried at once. If there are none, the client gets 429 with `Retry-After`."
        ),
    ] = WhenFull.QUEUE
    max_wait: Annotated[float, Meta(gt=0, description="The longest wait in seconds.")] = 30.0
    max_waiting: Annotated[
        int, Meta(ge=1, description="Requests that may wait at the same time, per worker. Further ones do not.")
    ] = 100


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model name that clients use, and its target."""

    target: Annotated[
        str,
        Meta(
            description="`PROVIDER/MODEL`. PROVIDER is a provider of this file or a built-in profile.",
            examples=["anthropic/claude-sonnet-4-6"],
        ),
    ]
    base_model: Annotated[
        str | None,
        Meta(
            description="The model that the target runs, if its name does not say so, such as that of a deployment. "
            "Facts, size and price are those of this model.",
            examples=["gpt-4o"],
        ),
    ] = None
    options: Annotated[
        dict[str, Any],
        Meta(description="Merged deeply into every request for this model.", examples=[{"temperature": 0.2}]),
    ] = field(default_factory=dict)
    omit: Annotated[tuple[str, ...], Meta(description="Settings never sent to this model.", examples=[["top_p"]])] = ()
    description: Annotated[str | None, Meta(description="What the model is good at; shown in model lists.")] = None
    hidden: Annotated[bool, Meta(description="Usable, but not listed.")] = False
    fallbacks: Annotated[
        tuple[str, ...],
        Meta(
            description="Targets or model names of this file, tried in order if the target fails. A name "
            "stands for its target alone: its own fallbacks are not tried, so models may name each other.",
            examples=[["openrouter/google/gemini-2.5-pro"]],
        ),
    ] = ()
    fallbacks_on: Annotated[FallbacksOn, Meta(description="Fallbacks for one reason of failure.")] = FallbacksOn()
    context_window: Annotated[
        TokenLimit | None, Meta(description="Its context window in tokens; by default the profile's.")
    ] = None
    weight: Annotated[float, Meta(gt=0, description="Its share in routes that weigh.")] = 1.0
    ratings: Annotated[
        dict[str, float],
        Meta(description="How good it is, by discipline.", examples=[{"coding": 1400, "writing": 1350}]),
    ] = field(default_factory=dict)
    price: Annotated[Price | None, Meta(description="What it costs.", examples=[{"input": 3, "output": 15}])] = None
    rate_limits: Annotated[
        ModelRateLimits | None,
        Meta(
            description="What its target is sent at most in a minute, under whatever name it is asked for.",
            examples=[{"requests_per_minute": 60}],
        ),
    ] = None
    cache_ttl: Annotated[
        float,
        Meta(
            ge=0,
            description="Minutes that its provider keeps a prefix. While it is warm, a route leaves the model of a "
            "session only for one with higher ratings.",
        ),
    ] = 0.0
    history: Annotated[
        HistoryConfig | None, Meta(description="What is done about long conversations; replaces that of the file.")
    ] = None
    facts: Annotated[dict[str, Any], Meta(description="Facts that differ for this model.")] = field(
        default_factory=dict
    )
    rules: Annotated[
        dict[str, RuleChoice], Meta(description="Rule options for this model.", examples=[{"late-system": "opening"}])
    ] = field(default_factory=dict)
    max_loss: Annotated[MaxLoss | None, Meta(description="Replaces the one of the provider and of the file.")] = None
    cache: Annotated[CacheChoice | None, Meta(description="Replaces the one of the provider and of the file.")] = None
    synthetic: Annotated[Synthetic | None, Meta(description="Replaces the one of the provider and of the file.")] = None
    doubt: Annotated[
        Doubt,
        Meta(
            description="What the target may refuse, and nobody knows: `faithful` leaves it as the client wrote it, "
            "`careful` repairs it."
        ),
    ] = Doubt.FAITHFUL
    passthrough_fields: Annotated[
        tuple[str, ...], Meta(description="Unknown message fields that are sent unchanged.")
    ] = ()
    answer_model: Annotated[
        AnswerModel | None,
        Meta(
            description="The model that an answer names: `alias`, as the client asked for it, or `upstream`, as the "
            "provider calls it; by default `upstream` if the answer is relayed in its own dialect, else `alias`."
        ),
    ] = None
    answers: Annotated[
        AnswerMembers,
        Meta(
            description="Answers of another vendor in the client's own dialect: `whole` adds the members that strict "
            "clients require to whole answers and relays streams as they are; `complete` completes streams too."
        ),
    ] = AnswerMembers.WHOLE
    reasoning: Annotated[
        ShownReasoning,
        Meta(
            description="Thinking in answers to Anthropic and Gemini clients: `asked` shows it to those that asked, "
            "as their own providers do; `show` to all."
        ),
    ] = ShownReasoning.ASKED
    tool_servers: Annotated[
        tuple[str, ...],
        Meta(description="Entries of `tool_servers` whose tools each request to it is given."),
    ] = ()
    show_model_prefix: Annotated[
        bool,
        Meta(
            description="Begin each answer with `[PROVIDER/MODEL] `. The prefix is taken off the history again, for "
            "every model."
        ),
    ] = False


class ModelOverride(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for all models whose name contains a text. What a model of this file says wins."""

    match: Annotated[str, Meta(description="A part of the model's name, in any case.", examples=["claude-opus"])]
    options: Annotated[
        dict[str, Any], Meta(description="Merged deeply into every request.", examples=[{"temperature": 1}])
    ] = field(default_factory=dict)
    omit: Annotated[tuple[str, ...], Meta(description="Settings never sent.", examples=[["top_p"]])] = ()
    reasoning: Annotated[
        ReasoningMode | None,
        Meta(
            description="`omit`: the target is not told whether to think; `enable` and `disable`: it is told so in its "
            "own form, if it can be told (the rule `thinking-switch`)."
        ),
    ] = None
    cache_control: Annotated[bool | None, Meta(description="Whether it takes cache hints.")] = None
    strict_tools: Annotated[bool | None, Meta(description="Whether it takes strict tools.")] = None
