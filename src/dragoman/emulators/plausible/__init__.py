"""A model that needs no weights: it calls the tools that it is asked to, and answers from what it has read."""
