"""Rules about tools and their schemas."""
