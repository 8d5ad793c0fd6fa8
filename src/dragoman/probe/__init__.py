"""Learn what a server accepts: by questions to the server itself, or from its chat template.

`questions` lists what can be asked and which fact each answer settles, `findings` collects the answers. Both are values
without I/O, and both ways of asking use them. `inquiry` decides what to ask next. `live/` sends the questions.
"""
