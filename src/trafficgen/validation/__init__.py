"""How close traffic is to what was measured, compared with the simple sources in use today."""
