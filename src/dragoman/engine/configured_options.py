"""What the configuration sets or leaves out for a model, on top of what was compiled; reported like any change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.conversation.canonical import digest
from dragoman.conversation.changes import Change, Loss
from dragoman.engine.adapted import AdaptedRequest
from dragoman.profiles.profile import merge

OPTION = "option"


def configured(adapted: AdaptedRequest, options: Mapping[str, Any], omit: tuple[str, ...]) -> AdaptedRequest:
    """The body with a model's options merged in deeply and its omissions left out."""
    before: dict[str, Any] = msgspec.json.decode(adapted.body)
    after = merge(before, options)
    for name in omit:
        after.pop(name, None)
    changes = [
        Change(
            OPTION,
            f"/{name}",
            _did(name, after),
            str(Loss.METADATA),
            False,
            digest(before.get(name)),
            digest(after.get(name)),
        )
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]
    if not changes:
        return adapted
    return msgspec.structs.replace(adapted, body=msgspec.json.encode(after), changes=(*adapted.changes, *changes))


def _did(name: str, after: dict[str, Any]) -> str:
    return f"set {name} as configured" if name in after else f"left out {name} as configured"
