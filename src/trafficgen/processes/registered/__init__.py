"""Sources of users."""
