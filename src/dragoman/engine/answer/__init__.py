"""From a provider's answer to the client's: translation, relays, what is captured on the way."""
