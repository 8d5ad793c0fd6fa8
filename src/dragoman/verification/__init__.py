"""Live proof: fixed conversations, sent to a provider directly and through the gateway, and its profile tested."""
