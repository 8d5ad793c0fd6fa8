"""OpenRouter: a Chat Completions API in front of other providers."""
