"""Writes inside/: recordings with the table of their conditions inside, as HDF5
(h5py), MATLAB level 5 (scipy.io) and MATLAB 7.3 (h5py, with a user block), and in
inside/truth.json their sources. Run: python3 make_inside.py (in this
folder)."""
import json
import os

import h5py
import numpy as np
import scipy.io

RATE, N, BLADES = 3200.0, 6400, 2
rng = np.random.default_rng(20261121)
t = np.arange(N) / RATE


def line(amplitude, rpm):
    x = amplitude * np.cos(2 * np.pi * BLADES * rpm / 60 * t + 0.3) + 0.02 * rng.standard_normal(N)
    return np.round(x * 4096).astype("i2")  # the converter's counts


# Three microphones with their angles; two intervals of one microphone.
theta, loud = [-30.0, 0.0, 45.0], [1.0, 2.0, 0.5]
mics = np.column_stack([line(a, 2400) for a in loud])
rpm, loud2 = [2400.0, 3000.0], [1.5, 0.75]
both = np.concatenate([line(a, r) for a, r in zip(loud2, rpm)])
first, last = [0, N], [N, 2 * N]
counts = 4096.0
truth = {
    "theta_deg": theta, "amplitude": [a * counts for a in loud],
    "rpm": rpm, "interval_amplitude": [a * counts for a in loud2], "row0": first, "row1": last,
}

os.makedirs("inside", exist_ok=True)
with h5py.File("inside/mics.h5", "w") as f:
    f.create_dataset("run/p", data=mics, chunks=(1600, 3), compression="gzip", shuffle=True)
    f["run"].attrs["fs"] = RATE
    f["geometry/theta"] = np.array([theta])  # (1, 3), as MATLAB writes it
with h5py.File("inside/intervals.h5", "w") as f:
    f.create_dataset("p", data=both, chunks=(1600,), compression="gzip", shuffle=True)
    f["p"].attrs["fs"] = RATE
    f["steps/from"] = np.array(first, "i4")
    f["steps/to"] = np.array(last, "u8")
    f["steps/speed"] = np.array(rpm, "f4")[:, None]  # (2, 1)

scipy.io.savemat("inside/mics_v5.mat", {"p": mics, "fs": RATE, "geometry": {"theta": np.array(theta)}}, do_compression=True)


def matlab(path, values):
    with h5py.File(path, "w", userblock_size=512) as f:
        for name, x, cls in values:
            if "/" in name:
                f.require_group(name.split("/")[0]).attrs["MATLAB_class"] = np.bytes_("struct")
            d = f.create_dataset(name, data=x, chunks=True, compression="gzip")
            d.attrs["MATLAB_class"] = np.bytes_(cls)
    with open(path, "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file, written by h5py".ljust(124) + b"\x00\x02IM")


# MATLAB's (N, 3) lies as (3, N), its (1, n) as (n, 1).
matlab("inside/mics_v73.mat", [("p", mics.T, "int16"), ("fs", [[RATE]], "double"), ("geometry/theta", np.array(theta)[:, None], "double")])
with open("inside/truth.json", "w") as f:
    json.dump(truth, f)
    f.write("\n")
