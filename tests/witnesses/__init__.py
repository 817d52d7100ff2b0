"""Other engines at the same state."""
