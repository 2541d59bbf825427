"""RealVideo 10 and the Helix server, with and without TurboPlay (BMW05)."""
