"""Writes arrays/ and arrays/truth.json: files of named arrays by h5py,
scipy.io and numpy, a TDMS file by the layout National Instruments publishes,
and what their channels hold. Run: python3 make_arrays.py (in this folder)."""
import json
import struct

import h5py
import numpy as np
import scipy.io

rng = np.random.default_rng(20261120)
truth = {}


def channel(values, rate=0.0, unit="", time=False):
    return {"rate": rate, "unit": unit, "time": time, "data": [float(v) for v in np.ravel(values)]}


def put(name, fmt, channels, attributes):
    truth[name] = {"format": fmt, "channels": channels, "attributes": attributes}


# A wind-tunnel acquisition as in docs/method.md: group Table1, first dataset
# time, the rate only in an attribute of the datasets.
n, rate = 640, 51200.0
t = np.arange(n) / rate
tacho = (np.sin(2 * np.pi * 400 * t) > 0.9) * 5.0
mic = rng.normal(size=(n, 1)).astype("f4")
with h5py.File("arrays/tunnel_U10_a4.h5", "w") as f:
    f.attrs["operator"] = "example"
    g = f.create_group("Table1")
    g.attrs["alpha_deg"] = 4.0
    for name, x, unit in [("Ds01-Time", t, "s"), ("Ds02-TACHO", tacho, "V"), ("Ds03-MIC", mic, "Pa")]:
        d = g.create_dataset(name, data=x, chunks=True, compression="gzip", shuffle=True)
        d.attrs["ChannelInformationSamplingPeriod"] = 1 / rate
        d.attrs["unit"] = unit
put("tunnel_U10_a4.h5", "hdf5", {
    "/Table1/Ds01-Time": channel(t, rate, "s", True), "/Table1/Ds02-TACHO": channel(tacho, rate, "V"), "/Table1/Ds03-MIC": channel(mic, rate, "Pa"),
}, {"operator": "example", "/Table1@alpha_deg": "4"})

# Rotor spectra as in docs/method.md (frequency, polar, azimuth), MATLAB's (1, N) vectors.
freq, theta = np.arange(60) * 25.0, np.arange(-60, 61, 10.0)
power = rng.random((60, 13, 2)).astype("f8")
with h5py.File("arrays/ISAE_2_square20_L0.h5", "w") as f:
    g = f.create_group("ISAE_2_square20_L0")
    g["frequency_Hz"] = freq[None, :]
    g["theta_deg"] = theta[None, :]
    g["radius_m"] = np.array([[1.62]])
    g["Autopower/Autopower_RPM_8000_Pa2"] = power
ch = {f"/ISAE_2_square20_L0/Autopower/Autopower_RPM_8000_Pa2[{i + 1},{j + 1}]": channel(power[:, i, j]) for i in range(13) for j in range(2)}
ch["/ISAE_2_square20_L0/frequency_Hz"] = channel(freq)
ch["/ISAE_2_square20_L0/theta_deg"] = channel(theta)
put("ISAE_2_square20_L0.h5", "hdf5", ch, {"/ISAE_2_square20_L0/radius_m": "1.62"})

# MATLAB 7.3: a user block of 512 bytes, transposed arrays, a struct, a cell, a text.
p, pair = rng.normal(size=300), rng.normal(size=(200, 3))
with h5py.File("arrays/v73.mat", "w", userblock_size=512) as f:
    def var(name, x, cls):
        d = f.create_dataset(name, data=x)
        d.attrs["MATLAB_class"] = np.bytes_(cls)
        return d
    var("p", p[None, :], "double")
    var("pair", pair.T, "double")  # MATLAB (200, 3) lies as (3, 200)
    var("fs", [[48000.0]], "double")
    var("site", np.array([[ord(c)] for c in "anechoic"], "u2"), "char")
    f.create_group("opp").attrs["MATLAB_class"] = np.bytes_("struct")
    var("opp/rpm", [[3000.0]], "double")
    var("#refs#/b", pair[:, :1].T, "double")
    c = f.create_dataset("cells", (1, 1), dtype=h5py.ref_dtype)
    c.attrs["MATLAB_class"] = np.bytes_("cell")
    c[0, 0] = f["#refs#/b"].ref
with open("arrays/v73.mat", "r+b") as f:
    f.write(b"MATLAB 7.3 MAT-file, written by h5py".ljust(124) + b"\x00\x02IM")
ch = {f"pair[{i + 1}]": channel(pair[:, i], 48000.0) for i in range(3)}
ch |= {"p": channel(p, 48000.0), "cells{1}": channel(pair[:, 0], 48000.0)}
put("v73.mat", "hdf5", ch, {"fs": "48000", "opp.rpm": "3000", "site": "anechoic"})

# Cell arrays and struct arrays of MATLAB 7.3 in each other: C = {p, struct("inner", {{p}})}, s(1:2).y, and the struct
# u with s in it. A field of a struct array is a dataset of references without a class.
with h5py.File("arrays/cells73.mat", "w", userblock_size=512) as f:
    def refer(name, targets, cls=""):
        d = f.create_dataset(name, (len(targets), 1), dtype=h5py.ref_dtype)
        if cls:
            d.attrs["MATLAB_class"] = np.bytes_(cls)
        for i, target in enumerate(targets):
            d[i, 0] = f[target].ref

    def make_struct(name):
        f.create_group(name).attrs["MATLAB_class"] = np.bytes_("struct")

    for i, name in enumerate("abcdef"):
        var("#refs#/" + name, p[None, 10 * i:10 * i + 10], "double")
    make_struct("#refs#/g")
    refer("#refs#/g/inner", ["#refs#/b"], "cell")
    refer("C", ["#refs#/a", "#refs#/g", "#refs#/g"], "cell")  # a second reference to g keeps the first name
    make_struct("s")
    refer("s/y", ["#refs#/c", "#refs#/d"])
    make_struct("u/s")
    make_struct("#refs#/h")
    f["#refs#/h/z"] = p[None, 60:70]
    f["#refs#/h/z"].attrs["MATLAB_class"] = np.bytes_("double")
    refer("u/s/y", ["#refs#/e", "#refs#/h"])
    refer("#refs#/k", ["#refs#/f"], "cell")
    refer("D", ["#refs#/k"], "cell")
with open("arrays/cells73.mat", "r+b") as f:
    f.write(b"MATLAB 7.3 MAT-file, written by h5py".ljust(124) + b"\x00\x02IM")
names = ["C{1}", "C{2}.inner{1}", "s(1).y", "s(2).y", "u.s(1).y", "D{1}{1}", "u.s(2).y.z"]
put("cells73.mat", "hdf5", {name: channel(p[10 * i:10 * i + 10]) for i, name in enumerate(names)}, {})

# MATLAB level 5: rows, columns, a struct, cells, compressed.
counts = rng.integers(-2000, 2000, (150, 2)).astype("i2")
cells = np.empty(2, dtype=object)
cells[0], cells[1] = p[:10], p[:20]
scipy.io.savemat("arrays/v5.mat", {
    "x": p[:, None], "row": p[None, :], "counts": counts, "wide": pair[:50].T,
    "opp": {"RPS_M1": np.array([93.74, 109.37]), "vInf": 40.0}, "f": cells, "label": "run 1"}, do_compression=True)
ch = {"x": channel(p), "row": channel(p), "opp.RPS_M1": channel([93.74, 109.37]), "f{1}": channel(p[:10]), "f{2}": channel(p[:20])}
ch |= {f"counts[{i + 1}]": channel(counts[:, i]) for i in range(2)} | {f"wide[{i + 1}]": channel(pair[:50, i]) for i in range(3)}
put("v5.mat", "mat", ch, {"opp.vInf": "40", "label": "run 1"})

# NumPy archive: C and Fortran order, a number that is the rate.
np.savez_compressed("arrays/mics.npz", mics=mic[:, 0].reshape(320, 2), fortran=np.asfortranarray(pair), fs=np.float64(25600), one=np.array([7]))
ch = {f"mics[{i + 1}]": channel(mic[:, 0].reshape(320, 2)[:, i], 25600.0) for i in range(2)} | {f"fortran[{i + 1}]": channel(pair[:, i], 25600.0) for i in range(3)}
put("mics.npz", "npz", ch, {"fs": "25600", "one": "7"})


# TDMS, "TDMS File Format Internal Structure": one segment, two interleaved
# channels of doubles with wf_increment and unit_string.
def text(s):
    b = s.encode()
    return struct.pack("<I", len(b)) + b


def prop(name, value):
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 0x20) + text(value)
    return text(name) + struct.pack("<Id", 10, value)


a, b = rng.normal(size=100), rng.normal(size=100)
index = struct.pack("<IIIQ", 20, 10, 1, 100)
meta = struct.pack("<I", 4)
meta += text("/") + struct.pack("<II", 0xFFFFFFFF, 1) + prop("author", "example")
meta += text("/'run'") + struct.pack("<II", 0xFFFFFFFF, 1) + prop("rpm", 3000.0)
for name, unit in [("mic", "Pa"), ("tacho", "V")]:
    meta += text(f"/'run'/'{name}'") + index + struct.pack("<I", 2) + prop("wf_increment", 1 / 12800) + prop("unit_string", unit)
raw = np.column_stack([a, b]).astype("<f8").tobytes()
toc = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5  # meta data, new object list, raw data, interleaved
with open("arrays/run.tdms", "wb") as f:
    f.write(b"TDSm" + struct.pack("<IIQQ", toc, 4713, len(meta) + len(raw), len(meta)) + meta + raw)
put("run.tdms", "tdms", {"run/mic": channel(a, 12800.0, "Pa"), "run/tacho": channel(b, 12800.0, "V")}, {"author": "example", "run@rpm": "3000"})

with open("arrays/truth.json", "w") as f:
    json.dump(truth, f)
