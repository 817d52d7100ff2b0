"""Figures: how long a compile takes beside the peers, and how it grows. Nothing here is a test."""

import os

# Before any numerical library is loaded: one thread each.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[_name] = "1"
