"""Sweeps: many prompts through constraints, models, samplers and seeds, into one table.

Read in this order: `models` (what is opened, and its digest), `grid` (what is asked for, and the
key of each row), `batch` (texts that are written and measured abreast), `worker` (a batch becomes
rows), `places` (where batches run), `folder` (partitioned Parquet, and what it knows of its sweep),
`sweep` (all of that, with its progress), `plan` (what a large one will cost), `report` (what a
table says: figures, what the parts of a constraint cost, and a page).

pyarrow, dask and distributed come with the extra `sweeps`; without them this imports, and the
functions that need them say so.
"""
