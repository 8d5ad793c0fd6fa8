"""HTTP itself: server, workers, bodies in and out, clients that leave."""
