"""Writes truth/*.npz with numpy.savez and savez_compressed, and each array also
with numpy.save: the bytes a member must deliver. Run: python3 make.py (numpy 1.24).
"""
import os

import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))
os.makedirs("truth", exist_ok=True)
rng = np.random.default_rng(7)
arrays = {
    "samples": rng.standard_normal((300, 2)),
    "counts": np.arange(-5, 60, dtype=">i2"),
    "fortran": np.asfortranarray(rng.standard_normal((4, 5)).astype("f4")),
    "empty": np.zeros((0, 3)),
}
np.savez("truth/stored.npz", **arrays)
np.savez_compressed("truth/deflated.npz", **arrays)
for k, v in arrays.items():
    np.save(f"truth/{k}.npy", v)
# 6 MiB decompressed, more than is kept in memory: float64 of i // 1000.
np.savez_compressed("truth/large.npz", x=(np.arange(786432) // 1000).astype("f8"))
