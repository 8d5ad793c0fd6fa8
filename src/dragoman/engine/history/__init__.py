"""Long conversations: units, their sizes, and what is cut from the beginning so that the rest fits."""
