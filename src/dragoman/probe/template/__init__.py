"""Learn what a server accepts from its chat template, without asking the server.

`sources` reads a template from a file by its content, `renderer` runs it in a process of its own, `prober` asks the
questions and states the facts.
"""
