"""What the source did, by its exchanges: bulk, paced, chunked or interactive."""
