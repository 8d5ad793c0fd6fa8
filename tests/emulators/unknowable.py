"""Recorded refusals that no judge of a request's shape can foresee, and why."""

from __future__ import annotations

from typing import Any

NOT_RECORDED = "only the answer was recorded"
NETWORK = "the service tried to download a URL and failed: that needs the network"
MODEL_ERRED = "the model made a bad call or none: the request is fine"
ACCOUNT = "about the account: permission, quota"
OTHER_SERVICE = "a service without an emulator of its own"
RETIRED = "a model that was retired: the emulator knows no calendar (a closed list gives the plain `not found`)"


def reason(exchange: dict[str, Any], emulated: bool) -> str | None:
    """Why the emulator cannot know; None if it can."""
    said = str(exchange["response"]["body"])
    if not exchange["request"] or not isinstance(exchange["request"]["body"], dict):
        return NOT_RECORDED
    if "while downloading" in said or "cannot make GET request" in said:
        return NETWORK
    if "tool_use_failed" in said:
        return MODEL_ERRED
    if "insufficient_quota" in said or exchange["response"]["status"] in (402, 403):
        return ACCOUNT
    if "has been deprecated" in said:
        return RETIRED
    return None if emulated else OTHER_SERVICE
