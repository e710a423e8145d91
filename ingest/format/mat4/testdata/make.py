"""Writes MAT-files of level 4 by scipy 1.10 and, as scipy writes only its machine's
byte order and double precision as given, others by MATLAB's published layout; in truth.json what
scipy.io.loadmat reads from them, the longer axis as time. Run in this folder: python3 make.py"""
import json
import struct

import numpy as np
import scipy.io
import scipy.sparse

rng = np.random.default_rng(4)
N = 17
x = rng.standard_normal((N, 3))
scipy.io.savemat("scipy.mat", {
    "x": x, "wide": x.T.copy(), "single": x.astype("f4"), "counts": (x * 1000).astype("i2"), "bytes": (x * 50 + 100).astype("u1"),
    "z": x[:, :1] + 1j * x[:, 1:2], "t": np.arange(N)[:, None] / 512.0, "rpm": 3000.0, "note": "wing 12", "i4": (x * 1e6).astype("i4"),
    "u2": (x * 1000 + 9000).astype("u2")}, format="4")
scipy.io.savemat("sparse.mat", {"x": x, "eye": scipy.sparse.csc_matrix(np.eye(3))}, format="4")
with open("big.mat", "wb") as f:  # MOPT 1000: big-endian
    for p, (name, kind) in enumerate([("d", ">f8"), ("s", ">f4"), ("l", ">i4"), ("h", ">i2"), ("u", ">u2"), ("b", ">u1")]):
        y = np.abs(x * 40) if kind[1] == "u" else x * 40
        f.write(struct.pack(">5I", 1000 + 10 * p, N, 3, 0, len(name) + 1) + name.encode() + b"\0")
        f.write(y.astype(kind).tobytes("F"))
truth = {}
for name in ["scipy.mat", "sparse.mat", "big.mat"]:
    out = {}
    for k, v in scipy.io.loadmat(name).items():
        if not isinstance(v, np.ndarray) or v.dtype.kind == "U" or v.size == 1:
            continue
        v = v if v.shape[0] >= v.shape[1] else v.T
        for part, w in ([".real", v.real], [".imag", v.imag]) if np.iscomplexobj(v) else [["", v]]:
            for c in range(w.shape[1]):
                out[k + part + ("[%d]" % (c + 1) if w.shape[1] > 1 else "")] = w[:, c].astype("f8").tolist()
    truth[name] = out
json.dump(truth, open("truth.json", "w"))
