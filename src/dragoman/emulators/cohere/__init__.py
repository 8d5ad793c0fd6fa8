"""Cohere Chat: `/v2/chat`, and `/v1/models`."""
