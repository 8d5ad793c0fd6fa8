"""Files for batch endpoints: one request per line, in an envelope with an id.

- OpenAI (https://developers.openai.com/api/docs/guides/batch): `{"custom_id", "method", "url", "body"}`.
- Anthropic (https://docs.claude.com/en/api/creating-message-batches): `{"custom_id", "params"}`.
- Gemini (https://ai.google.dev/gemini-api/docs/batch-api): `{"key", "request"}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.transcripts.transcript import JsonObject, Transcript, TranscriptRecord, is_object, text_at

_ENVELOPES = (("custom_id", "body"), ("custom_id", "params"), ("key", "request"))


def fits_batch(value: Any) -> bool:
    return is_object(value) and _request(value) is not None


def parse_batch(records: Sequence[TranscriptRecord]) -> list[Transcript]:
    found = [(record.value, _request(record.value)) for record in records if is_object(record.value)]
    return [
        Transcript(request, label=text_at(line, "custom_id") or text_at(line, "key"))
        for line, request in found
        if request is not None
    ]


def _request(line: JsonObject) -> JsonObject | None:
    for name, member in _ENVELOPES:
        if isinstance(line.get(name), str) and is_object(line.get(member)):
            request: JsonObject = line[member]
            return request
    return None
