"""What a process remembers of conversations for their next turn."""
