"""Models of many captures: populations, and one source over several paths."""
