"""Writes filters.h5, packed by the filters scaleoffset and nbit, and filters.json, the values
that the HDF5 library reads from it (h5py 3.7, HDF5 1.10.8). Run in this folder: python3 make_filters.py"""
import ctypes
import json

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

rng = np.random.default_rng(21)
truth = {}
written = []


def note(d, given=None):
    """Reads the dataset when the file is closed: before, the library has the unpacked elements."""
    written.append((d.name, given))


def read(d, given):
    v = np.empty(d.shape, "f8" if d.id.get_type().get_class() == h5t.FLOAT else "i8")
    if d.id.get_type().get_sign() == h5t.SGN_NONE if d.id.get_type().get_class() == h5t.INTEGER else False:
        v = v.astype("u8")
    d.id.read(h5s.ALL, h5s.ALL, v, mtype=h5t.py_create(v.dtype))
    if given is not None:
        assert (v == given).all(), d.name
    truth[d.name] = {"values": [repr(x) for x in v.ravel().tolist()]}


f = h5py.File("filters.h5", "w", libver="latest")
for t in ["i1", "u1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8", ">u8"]:
    i = np.iinfo(t)
    name = t.replace("<", "little_").replace(">", "big_")
    few = (max(i.min, -50) + rng.integers(0, 100, 60)).astype(t)
    wide = rng.integers(i.min, i.max, 60, dtype=np.dtype(t).newbyteorder("=")).astype(t)
    wide[:2] = i.min, i.max
    filled = few.copy()
    filled[7:19] = 3
    for kind, x, kw in [("few", few, {}), ("wide", wide, {}), ("filled", filled, {"fillvalue": 3}), ("equal", np.full(60, 7, t), {}),
                        ("grid", few.reshape(12, 5), {"chunks": (5, 2)})]:
        kw = {"chunks": (25,), "scaleoffset": 0, **kw}
        note(f.create_dataset(f"scaleoffset/{name}/{kind}", data=x, **kw), x)
few = rng.integers(-300, 300, 90).astype("<i4")
for kind, kw in [("gzip", {"compression": "gzip"}), ("lzf", {"compression": "lzf"}),
                 ("shuffle", {"compression": "gzip", "shuffle": True})]:
    note(f.create_dataset(f"scaleoffset/with/{kind}", data=few, chunks=(40,), scaleoffset=0, **kw), few)
note(f.create_dataset("scaleoffset/bits/10", data=few, chunks=(40,), scaleoffset=10), few)
note(f.create_dataset("scaleoffset/bits/32", data=few, chunks=(40,), scaleoffset=32), few)
for t in ["<f4", ">f4", "<f8", ">f8"]:
    for digits in (2, 4):
        x = rng.normal(0, 30, 60).astype(t)
        name = f"scaleoffset/{t.replace('<', 'little_').replace('>', 'big_')}/{digits}"
        note(f.create_dataset(name, data=x, chunks=(25,), scaleoffset=digits))
        x[10:20] = -9.5
        note(f.create_dataset(name + "_filled", data=x, chunks=(25,), scaleoffset=digits, fillvalue=-9.5))

lib = None
for line in open("/proc/self/maps"):
    if "libhdf5" in line and "_hl" not in line:
        lib = ctypes.CDLL(line.split()[-1])


def nbit(path, tid, values, chunk, more=lambda c: None):
    c = h5p.create(h5p.DATASET_CREATE)
    c.set_chunk((chunk,))
    assert lib.H5Pset_nbit(ctypes.c_int64(c.id)) >= 0
    more(c)
    lcpl = h5p.create(h5p.LINK_CREATE)
    lcpl.set_create_intermediate_group(True)
    h5d.create(f.id, path.encode(), tid, h5s.create_simple(values.shape), c, lcpl)
    f[path].id.write(h5s.ALL, h5s.ALL, values, mtype=h5t.py_create(values.dtype))
    return f[path]


for kind, base, precision, offset in [("12_of_32", h5t.STD_I32LE, 12, 4), ("12_of_32_big", h5t.STD_I32BE, 12, 4), ("5_of_16", h5t.STD_U16LE, 5, 0),
                                      ("31_of_64", h5t.STD_I64LE, 31, 20), ("7_of_8", h5t.STD_I8LE, 7, 1), ("32_of_32", h5t.STD_I32LE, 32, 0),
                                      ("13_of_16_big", h5t.STD_U16BE, 13, 2)]:
    tid = base.copy()
    tid.set_precision(precision)
    tid.set_offset(offset)
    signed = base.get_sign() != h5t.SGN_NONE
    x = rng.integers(0, 1 << precision, 50) - (1 << precision - 1 if signed else 0)
    note(nbit("/nbit/" + kind, tid, x.astype("<i8"), 20), x)
    if kind == "12_of_32":
        note(nbit("/nbit/gzip", tid, x.astype("<i8"), 20, lambda c: c.set_deflate(4)), x)
        note(nbit("/nbit/fletcher", tid, x.astype("<i8"), 20, lambda c: c.set_fletcher32()), x)
tid = h5t.IEEE_F32LE.copy()  # 20 bits: a sign, an exponent of 6, a mantissa of 13
tid.set_fields(26, 20, 6, 7, 13)
tid.set_offset(7)
tid.set_precision(20)
tid.set_ebias(31)
note(nbit("/nbit/float_20_of_32", tid, rng.normal(0, 3, 50), 20))
few = h5t.STD_I32LE.copy()
few.set_precision(12)
tid = h5t.create(h5t.COMPOUND, 8)
tid.insert(b"a", 0, few)
tid.insert(b"b", 4, h5t.IEEE_F32LE)
d = nbit("/nbit/compound", tid, np.zeros(4, [("a", "<i4"), ("b", "<f4")]), 4)
truth[d.name] = {"error": "dataset /nbit/compound: filter 5 (nbit) of a compound: not supported"}
f.close()
with h5py.File("filters.h5") as f:
    for name, given in written:
        read(f[name], given)
json.dump(truth, open("filters.json", "w"), indent=0)
