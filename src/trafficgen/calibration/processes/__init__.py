"""Packet processes fitted to the packets of one stream in one phase, and the choice among them."""
