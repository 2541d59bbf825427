"""What a player logged, brought onto the clock of its capture."""
