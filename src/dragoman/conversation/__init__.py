"""The values that all dialects share: conversations, replies, stream events and changes."""
