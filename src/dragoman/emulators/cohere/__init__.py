"""Cohere Chat: `/v2/chat`, and `/v1/models`."""

from dragoman.emulators.cohere.emulator import CohereApi, provider

__all__ = ["CohereApi", "provider"]
