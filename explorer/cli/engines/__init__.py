"""Commands that ask other engines: `witness`."""
