"""The panels beside the machines: bars, mask, reasons, strip, lines over time."""
