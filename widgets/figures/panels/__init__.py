"""The panels beside the machines: bars, mask, reasons, strip, the stack of a grammar,
lines over time."""
