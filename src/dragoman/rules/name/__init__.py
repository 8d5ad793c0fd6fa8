"""Rules about names and ids."""
