"""Dragoman inside other people's programs: a transport for the official SDKs, and a mount for ASGI applications."""
