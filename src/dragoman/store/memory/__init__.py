"""Everything in this process, gone with it. The synchronous cores are here; the store's contract wraps them."""
