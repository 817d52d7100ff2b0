"""From a figure to places, curves and SVG."""
