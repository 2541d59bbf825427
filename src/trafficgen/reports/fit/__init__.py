"""Report of a fit: what was measured, the laws over it, the path, and what is doubtful."""
