"""OpenAI Responses: `/v1/responses`, its token count and compaction, and the same API on Azure and behind Codex."""
