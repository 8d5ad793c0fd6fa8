"""All formats, in the order in which a file is tried. The first that fits one of its first records is taken."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.transcripts import (
    batch_files,
    claude_code,
    codex,
    fine_tuning,
    gemini_cli,
    langchain_messages,
    message_lists,
    vercel_messages,
)
from dragoman.transcripts.transcript import TranscriptFormat, TranscriptRecord

_ALL = (
    TranscriptFormat(
        "claude-code",
        "a session of Claude Code",
        "anthropic",
        claude_code.fits_session,
        claude_code.parse_session,
        session=True,
    ),
    TranscriptFormat(
        "codex", "a session of Codex", "openai-responses", codex.fits_rollout, codex.parse_rollout, session=True
    ),
    TranscriptFormat(
        "gemini-cli",
        "a session of Gemini CLI",
        "gemini",
        gemini_cli.fits_session,
        gemini_cli.parse_session,
        session=True,
    ),
    TranscriptFormat(
        "gemini-checkpoint",
        "a checkpoint of Gemini CLI",
        "gemini",
        gemini_cli.fits_checkpoint,
        gemini_cli.parse_checkpoint,
    ),
    TranscriptFormat("batch", "a file for a batch endpoint", "", batch_files.fits_batch, batch_files.parse_batch),
    TranscriptFormat(
        "langchain",
        "messages of LangChain",
        "openai-chat",
        langchain_messages.fits_dump,
        langchain_messages.parse_dump,
    ),
    TranscriptFormat(
        "vercel-ai",
        "messages of Vercel's AI SDK",
        "openai-chat",
        vercel_messages.fits_dump,
        vercel_messages.parse_dump,
    ),
    TranscriptFormat(
        "fine-tuning",
        "examples for fine-tuning",
        "openai-chat",
        fine_tuning.fits_example,
        fine_tuning.parse_example,
        lines_only=True,
    ),
    TranscriptFormat("messages", "a list of messages", "", message_lists.fits_list, message_lists.parse_list),
)

FORMATS: dict[str, TranscriptFormat] = {found.name: found for found in _ALL}


def recognise_format(sample: Iterable[TranscriptRecord], lines: bool) -> TranscriptFormat | None:
    """The format of a file by some of its records; None if they are requests, or nothing that is known."""
    tried = list(sample)
    for found in _ALL:
        if found.lines_only and not lines:
            continue
        if any(found.fits(record.value) for record in tried):
            return found
    return None
