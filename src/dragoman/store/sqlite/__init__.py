"""Memory in front, a SQLite file behind.

Everything is put into memory at once, and into the file by one thread, in batches. What memory knows is answered
without waiting; what it does not know is read by another thread.
"""
