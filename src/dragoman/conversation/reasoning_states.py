"""The kinds of opaque reasoning state: the JSON string that its provider handed out (a detail: the whole object)."""

SIGNATURE = "signature"
"""Anthropic: proves a thinking block."""
REDACTED = "redacted_thinking"
"""Anthropic: a thinking block that only the provider can read."""
ENCRYPTED = "encrypted_content"
"""OpenAI Responses: a reasoning item that only the provider can read."""
THOUGHT = "thought_signature"
"""Gemini: hangs on a call, a text or a thought."""
UNSIGNED = "unsigned"
"""Dragoman: stands in place of a signature if nobody signed, and means nothing to any provider."""
DETAIL = "reasoning_details"
"""Chat as OpenRouter speaks it: one entry of the list, verbatim."""

PART = "thinking"
"""Chat as Mistral speaks it: a part of the content."""
CHAT_FIELDS = ("reasoning_content", "reasoning", DETAIL)
"""The fields of a Chat message in which providers hand out thinking and take it back."""
