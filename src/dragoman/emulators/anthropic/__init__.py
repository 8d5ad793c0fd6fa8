"""Anthropic Messages: `/v1/messages`, `/v1/messages/count_tokens`, `/v1/models`, and Claude on Vertex and
in Azure AI Foundry."""
