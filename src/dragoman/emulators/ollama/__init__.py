"""Ollama's own API: `/api/chat`, with the checks of the server's decoder and of its models' abilities."""

from dragoman.emulators.ollama.emulator import Ollama, provider

__all__ = ["Ollama", "provider"]
