"""What Gemini serves beside plain requests."""
