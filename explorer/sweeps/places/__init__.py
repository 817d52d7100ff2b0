"""Where the batches of a sweep run: one protocol, and a file for each kind of place.

Read in this order: `place` (the protocol), `here` (this process), `pool` (any executor of
`concurrent.futures`), `cluster` (Dask), `choosing` (from what a user gives to a place).
"""
