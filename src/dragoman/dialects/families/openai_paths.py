"""What OpenAI's two dialects have in common beside errors and models: paths that are no conversations, whose requests
are passed on as they are, and the headers of limits."""

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
LIMIT_HEADER = "x-ratelimit-{figure}-{what}"
