"""Ollama's own API: `/api/chat`, with the checks of the server's decoder and of its models' abilities."""
