"""Amazon Bedrock: Converse, ConverseStream, InvokeModel for Claude, and counting tokens."""

from dragoman.emulators.bedrock.emulator import provider

__all__ = ["provider"]
