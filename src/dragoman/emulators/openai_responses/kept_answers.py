"""Answers that the service keeps: which ids it made, for which key, and whether they were to be stored."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from dragoman.emulators.openai_responses.items import kind_of
from dragoman.emulators.openai_responses.refusals import ResponsesRefusal
from dragoman.emulators.provider import ReceivedRequest

_MOST = 100_000
_ITEM = (
    "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set "
    "to true, or remove this item from your input."
)


class KeptAnswers:
    """The ids of answers and of their items. One that nobody here made is refused only if `strict`: a recorded request
    may name it."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._owners: OrderedDict[str, str | None] = OrderedDict()
        """The key that an id was made for; None: it was not to be stored."""

    def keep(self, request: ReceivedRequest, answer: dict[str, Any]) -> None:
        owner = _key(request) if request.body.get("store") is not False else None
        for id in (answer["id"], *(item["id"] for item in answer["output"] if "id" in item)):
            self._owners[id] = owner
        while len(self._owners) > _MOST:
            self._owners.popitem(last=False)

    def check(self, request: ReceivedRequest) -> None:
        previous, items = request.body.get("previous_response_id"), request.body.get("input")
        if isinstance(previous, str) and not self._has(request, previous):
            what = f"Previous response with id '{previous}' not found."
            raise ResponsesRefusal(what, "previous_response_id", "previous_response_not_found")
        for item in items if isinstance(items, list) else ():
            if _is_only_named(item, request.body) and not self._has(request, item["id"]):
                raise ResponsesRefusal(_ITEM.format(id=item["id"]), "input")

    def _has(self, request: ReceivedRequest, id: str) -> bool:
        if id not in self._owners:
            return not self._strict
        return self._owners[id] == _key(request)


def _is_only_named(item: dict[str, Any], body: dict[str, Any]) -> bool:
    """Whether an item has to be found. Reported of thinking that is not encrypted, where nothing is stored, in
    openai-agents-js#546, ag2#3080 and vercel/ai#13234."""
    if kind_of(item) != "reasoning" or not isinstance(item.get("id"), str):
        return kind_of(item) == "item_reference"
    return body.get("store") is False and not item.get("encrypted_content")


def _key(request: ReceivedRequest) -> str:
    return request.headers.get("authorization", "") or request.headers.get("api-key", "")
