"""Gemini `generateContent` and `streamGenerateContent`, in the manner of AI Studio and of Vertex."""

from dragoman.emulators.gemini.emulator import Gemini, Vertex, provider, vertex

__all__ = ["Gemini", "Vertex", "provider", "vertex"]
