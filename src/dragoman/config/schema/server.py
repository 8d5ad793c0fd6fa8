"""`server`: how the gateway listens."""

from typing import Annotated

from msgspec import Meta, Struct

from dragoman.config.schema.start_keys import at_start


class ServerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the gateway listens."""

    host: Annotated[str, at_start("The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, at_start("The port to listen on; 0 takes a free one.", ge=0, le=65535)] = 8642
    workers: Annotated[int, at_start("The number of processes that share the port.", ge=1, le=256)] = 1
    max_body: Annotated[int, Meta(ge=1024, description="The largest request body in bytes.")] = 20_971_520
    conversation_memory: Annotated[
        int,
        Meta(
            ge=0,
            description="Bytes of conversations that all workers together remember for their next turn, each for ten "
            "minutes and for its own key alone. 0 turns it off.",
        ),
    ] = 67_108_864
    max_headers: Annotated[int, at_start("The largest request head in bytes.", ge=1024)] = 65_536
    max_concurrent: Annotated[
        int, Meta(ge=1, description="Requests at the same time per worker. Further ones get 429 with `Retry-After`.")
    ] = 2000
    write_timeout: Annotated[
        float,
        Meta(gt=0, description="Seconds that a client may leave the answer unread before the gateway disconnects it."),
    ] = 60.0
    shutdown_grace: Annotated[
        float, Meta(ge=0, description="Seconds that running requests have to finish at shutdown.")
    ] = 30.0
    hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Names that clients may call the gateway by if there are no `keys`, besides `localhost` and "
            "loopback addresses: the `Host` of their requests, without the port. It stops web pages whose name leads "
            "to this machine.",
            examples=[["dragoman.internal"]],
        ),
    ] = ()
    allow_public_without_keys: Annotated[
        bool,
        Meta(description="Listen on other addresses than loopback without `keys`. Anyone can spend your money then."),
    ] = False
