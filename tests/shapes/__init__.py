"""Requests of every shape, one module per dialect; each is written as a client would write it, defects included."""
