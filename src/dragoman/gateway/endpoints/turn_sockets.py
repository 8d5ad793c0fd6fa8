"""A WebSocket for the turns of conversations, or a word that there is none.

What serves one is loaded with the first: a gateway without WebSockets starts sooner.
"""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.library.report_summary import ID_HEADER
from dragoman.gateway.callers.caller import Refused
from dragoman.gateway.endpoints.generate import GOING_AWAY
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.sockets.open_sockets import SOCKETS_PER_KEY

_OFFER = ((b"upgrade", b"websocket"), (b"connection", b"upgrade"), (b"sec-websocket-version", b"13"))


async def open_socket(request: ServedRequest, dialect: str) -> None:
    """Upgrade a request. On 426 clients use `POST` at once and without a word; on 405 they try again."""
    if request.inbound.scope["type"] != "websocket":
        what = f"GET {request.inbound.path} opens a WebSocket; use POST for a single request"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 426, "upgrade_required"), _OFFER)
    if request.services.traffic.closing:
        raise Refused(GOING_AWAY)
    if not request.services.conversations.sockets.has_room(request.caller.name):
        what = f"the key has {SOCKETS_PER_KEY} WebSockets open; use POST, or close one"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 426, "too_many_sockets"), _OFFER)
    named = [(ID_HEADER, request.outbound.id.encode())]
    await request.outbound.send({"type": "websocket.accept", "headers": named})
    from dragoman.gateway.sockets.socket_session import SocketSession

    await SocketSession(request, dialect).run()
