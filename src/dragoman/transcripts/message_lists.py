"""A bare list of messages, as programs often store a conversation: the request without its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.transcripts.transcript import Transcript, TranscriptRecord, objects_of


def fits_list(value: Any) -> bool:
    messages = objects_of(value)
    return bool(messages) and all(isinstance(one.get("role"), str) and "content" in one for one in messages)


def parse_list(records: Sequence[TranscriptRecord]) -> list[Transcript]:
    return [Transcript({"messages": record.value}) for record in records if isinstance(record.value, list)]
