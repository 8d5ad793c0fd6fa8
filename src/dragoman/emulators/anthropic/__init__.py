"""Anthropic Messages: `/v1/messages`, `/v1/messages/count_tokens`, `/v1/models`, and Claude on Vertex and
in Azure AI Foundry."""

from dragoman.emulators.anthropic.compatible import compatible
from dragoman.emulators.anthropic.emulator import Anthropic, provider
from dragoman.emulators.anthropic.foundry import foundry
from dragoman.emulators.anthropic.vertex import vertex

__all__ = ["Anthropic", "compatible", "foundry", "provider", "vertex"]
