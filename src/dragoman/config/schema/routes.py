"""`routes` and what they need: `router`, `caches`, `health_checks`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from dragoman.engine.routing.strategies import Strategy


class ModelRoute(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A name behind which the gateway chooses a model for each request."""

    models: Annotated[
        tuple[str, ...],
        Meta(description="Models of this file to choose from; empty: all that are not hidden."),
    ] = ()
    strategy: Annotated[
        Strategy,
        Meta(
            description="`order`: the first that can answer. `model`: the `router` model decides. `weighted`: at "
            "random, by `weight`. `cheapest`: by `price`, or the published one. `fastest`: by the measured time to the "
            "first byte. `least_busy`: by requests under way. `size`: the smallest context window that is enough. "
            "`rating`: the highest mean of `ratings`."
        ),
    ] = Strategy.ORDER
    default: Annotated[str | None, Meta(description="Taken if the router model cannot tell; by default the first.")] = (
        None
    )


class RouterConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The small model that decides for routes with `strategy: model`."""

    model: Annotated[str, Meta(description="A model of this file, or `PROVIDER/MODEL`.", examples=["small"])]
    fallback: Annotated[str | None, Meta(description="Asked if the first fails.")] = None
    temperature: Annotated[Annotated[float, Meta(ge=0)] | None, Meta(description="`null` leaves it out.")] = 0.0
    context_messages: Annotated[int, Meta(ge=0, description="Earlier turns that it is shown.")] = 6
    timeout: Annotated[float, Meta(gt=0, description="Seconds after which the default is taken.")] = 10.0
    prompt: Annotated[
        str | None,
        Meta(description="Instead of the built-in one; with `{model_descriptions}`, `{context}`, `{current_request}`."),
    ] = None


class CacheConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What routes assume of providers' caches, for models with a `cache_ttl`."""

    buffer_seconds: Annotated[
        float, Meta(ge=0, description="A cache counts as cold so many seconds before its end.")
    ] = 30.0
    minutes_per_message: Annotated[float, Meta(gt=0, description="How often a turn of a session comes.")] = 2.0
    create_multiplier: Annotated[
        float, Meta(ge=0, description="Times the input price for what is written, where the price has no `written`.")
    ] = 1.25
    hit_multiplier: Annotated[
        float, Meta(ge=0, description="Times the input price for what is read, where the price has no `cached`.")
    ] = 0.1


class HealthChecks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Small requests that find out whether models answer, before a client does."""

    interval: Annotated[float, Meta(ge=1, description="Seconds between two rounds.")] = 300.0
    max_latency_ms: Annotated[float, Meta(gt=0, description="A model whose answer begins later is unhealthy.")] = (
        10_000.0
    )
    idle_after_seconds: Annotated[
        float, Meta(gt=0, description="Without requests for so long, the checks pause until the next request.")
    ] = 300.0
