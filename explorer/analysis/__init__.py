"""Pure functions of machines and traces."""
