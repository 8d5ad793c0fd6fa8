"""Dragoman: any conversation works on any model, and nothing is changed behind your back."""
