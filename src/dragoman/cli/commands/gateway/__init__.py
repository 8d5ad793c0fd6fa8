"""Commands that run the gateway and set it up."""
