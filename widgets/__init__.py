"""Notebook views: pure figures, and widgets that only wire them to a cursor."""
