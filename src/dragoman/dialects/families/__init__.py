"""What the dialects of one family share: OpenAI's two, Amazon's, those with blocks."""
