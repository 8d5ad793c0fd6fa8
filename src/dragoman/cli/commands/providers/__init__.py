"""Commands that ask providers, or imitate them."""
