"""An inquiry of an emulator's judge, without sockets: the same requests, the same refusals, in a few milliseconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure
from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse
from dragoman.probe.asked_dialects import find_asked_dialect
from dragoman.probe.inquiry import Inquiry, ProbeRequest
from dragoman.wire.error_bodies import parse_failure

Ask = Callable[[Mapping[str, Any]], Failure | None]
MOST_REQUESTS = 200
_MODEL_IN_PATH = re.compile(r"models/[^:]+:")


def asking(one: EmulatedProvider, model: str = "") -> Ask:
    """A function that sends a body to the emulator's judge and parses its refusal. `model`: another than usual."""
    path, example = one.example
    named = {"model": model or example["model"]} if "model" in example else {}
    place = _MODEL_IN_PATH.sub(f"models/{model}:", path) if model and not named else path

    def ask(body: Mapping[str, Any]) -> Failure | None:
        raw = msgspec.json.encode({**named, **body})
        request = one.parse_request("POST", place, {}, {}, raw)
        refusal = request if isinstance(request, ErrorResponse) else one.judge(request)
        if refusal is None:
            return None
        content = refusal.body if isinstance(refusal.body, str) else msgspec.json.encode(refusal.body).decode()
        return parse_failure(refusal.status, refusal.headers, content.encode())

    return ask


class Probed(msgspec.Struct, frozen=True):
    inquiry: Inquiry
    requests: tuple[ProbeRequest, ...]


def probe(ask: Ask, inquiry: Inquiry | None = None) -> Probed:
    inquiry = inquiry or Inquiry(find_asked_dialect())
    sent: list[ProbeRequest] = []
    while (request := inquiry.next_request()) is not None:
        sent.append(request)
        assert len(sent) < MOST_REQUESTS, "the inquiry does not end"
        inquiry.receive(request, ask(request.body))
    return Probed(inquiry, tuple(sent))


def probe_emulator(name: str, **options: Any) -> Probed:
    return probe(asking(provider(name, **options)))
