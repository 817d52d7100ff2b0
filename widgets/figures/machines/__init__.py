"""The machines as figures: nodes and edges with words, and what is lit in them."""
