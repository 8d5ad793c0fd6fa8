"""Commands that show and remove what outlives requests."""
