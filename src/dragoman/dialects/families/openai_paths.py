"""Paths of OpenAI's API that are no conversations. Requests to them are passed on as they are."""

from __future__ import annotations

from dragoman.dialects.families.openai_completions import COMPLETIONS_PATH

FORWARDED_PATHS = (
    "/embeddings",
    "/audio/transcriptions",
    "/audio/translations",
    "/audio/speech",
    "/images/generations",
    "/images/edits",
    "/images/variations",
    "/moderations",
)
RELAYED_PATHS = frozenset({*FORWARDED_PATHS, COMPLETIONS_PATH})
