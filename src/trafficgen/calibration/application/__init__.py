"""What the source did, by its exchanges: bulk, chunked or interactive."""
