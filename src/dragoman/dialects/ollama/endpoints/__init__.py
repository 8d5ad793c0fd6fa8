"""What this dialect serves beside chats: prompts and embeddings."""
