"""Anthropic Messages: `/v1/messages`, `/v1/messages/count_tokens`, `/v1/models`, and Claude on Vertex."""

from dragoman.emulators.anthropic.emulator import Anthropic, provider
from dragoman.emulators.anthropic.vertex import vertex

__all__ = ["Anthropic", "provider", "vertex"]
