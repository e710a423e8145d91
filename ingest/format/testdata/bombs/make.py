#!/usr/bin/env python3
"""Writes *.gz: files that are small because what they hold is constant, by h5py 3.7 and scipy 1.10.

    python3 make.py
"""
import gzip
import os

import h5py
import numpy as np
import scipy.io

x = np.zeros(1 << 25)
with h5py.File("chunk.h5", "w") as f:
    f.create_dataset("x", data=x, chunks=(len(x),), compression="gzip", shuffle=True)
with h5py.File("many.h5", "w") as f:
    f.attrs["fs"] = 1000.0
    for i in range(20000):
        f[f"x{i}"] = np.zeros(2)
scipy.io.savemat("columns.mat", {"x": x.reshape(-1, 4), "fs": 1000.0}, do_compression=True)
for name in ["chunk.h5", "many.h5", "columns.mat"]:
    with open(name, "rb") as f, gzip.GzipFile(name + ".gz", "wb", mtime=0) as g:
        g.write(f.read())
    os.remove(name)
