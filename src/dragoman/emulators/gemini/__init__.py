"""Gemini `generateContent` and `streamGenerateContent`, as AI Studio and Vertex serve them."""
