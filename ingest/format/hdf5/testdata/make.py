#!/usr/bin/env python3
"""Writes the truth files of package hdf5 with h5py, and their truth.json.

    python3 make.py [DIR]             the committed files
    python3 make.py DIR --random N    N files of random layout instead

Values in truth.json are those the writer was given, never read back. Long
arrays are given as a pattern: element i is ((i*mul + add) % mod + low) / div.
The order of groups and links is what h5py lists after reopening the file.
"""
import ctypes
import gzip
import json
import os
import sys

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t, h5z

HERE = os.path.dirname(os.path.abspath(__file__))


def plain(v):
    """A number as JSON can hold it."""
    v = v.item() if hasattr(v, "item") else v
    if isinstance(v, float) and (v != v or v in (float("inf"), float("-inf"))):
        return str(v)
    if isinstance(v, int) and abs(v) > 2**53:
        return str(v)
    return v


def type_name(t):
    t = np.dtype(t)
    name = {"f": "float", "i": "int", "u": "uint"}[t.kind] + str(8 * t.itemsize)
    if t.itemsize == 1:
        return name
    return name + (" big-endian" if t.byteorder == ">" else " little-endian")


def pattern(dtype, add):
    """A pattern whose every value the type holds exactly."""
    t = np.dtype(dtype)
    p = {"mul": 7919, "add": add, "mod": 251, "low": 0 if t.kind == "u" else -125, "div": 8 if t.kind == "f" else 1}
    if t.kind == "i" and t.itemsize == 1:
        p["mod"] = 241
        p["low"] = -120
    return p


def expand(p, n, dtype):
    i = np.arange(n, dtype=np.int64)
    return (((i * p["mul"] + p["add"]) % p["mod"] + p["low"]) / p["div"]).astype(dtype)


class File:
    """A file being written, with its truth."""

    def __init__(self, directory, name, zipped=False, fcpl=None, **kw):
        self.dir, self.name, self.zipped = directory, name, zipped
        self.path = os.path.join(directory, name)
        if fcpl is not None:
            fapl = h5p.create(h5p.FILE_ACCESS)
            v = {"earliest": h5f.LIBVER_EARLIEST, "latest": h5f.LIBVER_LATEST}[kw["libver"]]
            fapl.set_libver_bounds(v, h5f.LIBVER_LATEST)
            self.h = h5py.File(h5f.create(self.path.encode(), h5f.ACC_TRUNC, fcpl, fapl))
        else:
            self.h = h5py.File(self.path, "w", **kw)
        self.truth = {"file": name + (".gz" if zipped else ""), "user_block": kw.get("userblock_size", 0), "datasets": {}, "attributes": {}}
        self.tracked = bool(kw.get("track_order"))
        self.add = 0

    def values(self, shape, dtype):
        self.add += 17
        p = pattern(dtype, self.add)
        return p, expand(p, int(np.prod(shape)), dtype).reshape(shape)

    def dataset(self, path, dtype, shape, **kw):
        """A dataset of a pattern."""
        p, v = self.values(shape, dtype)
        d = self.h.create_dataset(path, data=v, dtype=dtype, **kw)
        self.know(d, type=type_name(dtype), pattern=p)
        return d

    def know(self, d, **what):
        what["dims"] = list(d.shape) if d.shape else None
        self.truth["datasets"][d.name] = what

    def given(self, path, values, dtype=None, **kw):
        """A dataset of these values."""
        v = np.asarray(values, dtype=dtype)
        d = self.h.create_dataset(path, data=v, **kw)
        self.know(d, type=type_name(v.dtype), values=[plain(x) for x in v.ravel()])
        return d

    def attr(self, obj, name, value, kind, dims, values, **kw):
        if value is not None:
            obj.attrs.create(name, value, **kw)
        self.truth["attributes"].setdefault(obj.name, {})[name] = {"kind": kind, "dims": dims, "values": [plain(x) for x in values]}

    def close(self):
        self.h.close()
        groups = {}
        order = []
        seen = set()

        def walk(g, path):
            links = []
            groups[path] = links
            # Iterating over h5py's File forgets the order of creation.
            made = self.tracked if path == "/" else g.id.get_create_plist().get_link_creation_order() & h5p.CRT_ORDER_TRACKED
            names = []
            g.id.links.iterate(lambda n: names.append(n.decode()), idx_type=h5py.h5.INDEX_CRT_ORDER if made else h5py.h5.INDEX_NAME)
            for n in names:
                l = g.get(n, getlink=True)
                sub = path.rstrip("/") + "/" + n
                if isinstance(l, h5py.SoftLink):
                    links.append([n, "soft link", l.path])
                    continue
                if isinstance(l, h5py.ExternalLink):
                    links.append([n, "external link", l.filename + ":" + l.path])
                    continue
                links.append([n, "hard link", ""])
                o = g[n]
                key = h5py.h5o.get_info(o.id).addr
                if key in seen:
                    continue
                seen.add(key)
                if isinstance(o, h5py.Group):
                    walk(o, sub)
                elif isinstance(o, h5py.Dataset):
                    order.append(sub)

        with h5py.File(self.path, "r") as h:
            seen.add(h5py.h5o.get_info(h.id).addr)
            walk(h, "/")
        with open(self.path, "rb") as f:
            b = f.read()
        self.truth["superblock"] = b[self.truth["user_block"] + 8]
        self.truth["groups"] = groups
        self.truth["order"] = order
        if self.zipped:
            with open(self.path + ".gz", "wb") as f:
                f.write(gzip.compress(b, 9, mtime=0))
            os.remove(self.path)
        return self.truth


STORAGES = {
    "contiguous": {},
    "chunked": {"chunks": True},
    "gzip": {"chunks": True, "compression": "gzip"},
    "gzip_shuffle": {"chunks": True, "compression": "gzip", "shuffle": True},
    "fletcher32": {"chunks": True, "fletcher32": True},
    "gzip_shuffle_fletcher32": {"chunks": True, "compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf_shuffle": {"chunks": True, "compression": "lzf", "shuffle": True},
    "compact": None,
}
DTYPES = ["<f4", "<f8", ">f4", ">f8", "<f2", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "|i1", "|u1", "<u2", ">u2", "<u4", "<u8"]
SHAPES = {"n": (37,), "1n": (1, 37), "n1": (37, 1), "n3": (37, 3)}
# None divides its axis: the last chunks are partial ones.
CHUNKS = {"n": (10,), "1n": (1, 10), "n1": (10, 1), "n3": (10, 2)}


def low_level(f, path, dtype, shape, prepare, values=None, maxshape=None, tid=None):
    """A dataset whose creation needs the property list."""
    dcpl = h5p.create(h5p.DATASET_CREATE)
    prepare(dcpl)
    tid = tid or h5t.py_create(np.dtype(dtype), logical=True)
    lcpl = h5p.create(h5p.LINK_CREATE)
    lcpl.set_create_intermediate_group(True)
    sp = h5s.create_simple(shape, None if maxshape is None else tuple(h5s.UNLIMITED if m is None else m for m in maxshape))
    h5d.create(f.h.id, path.encode(), tid, sp, dcpl, lcpl)
    d = f.h[path]
    if values is not None:
        values = np.ascontiguousarray(values)
        d.id.write(h5s.ALL, h5s.ALL, values, mtype=h5t.py_create(values.dtype))
    return d


def matrix(dirname, libver):
    """Types × storages × shapes."""
    f = File(dirname, f"matrix_{libver}.h5", zipped=True, libver=libver)
    for t in DTYPES:
        for s, kw in STORAGES.items():
            for k, shape in SHAPES.items():
                path = f"/{type_name(t).replace(' ', '_')}/{s}_{k}"
                if kw is None:
                    p, v = f.values(shape, t)
                    d = low_level(f, path, t, shape, lambda c: c.set_layout(h5d.COMPACT), v)
                    f.know(d, type=type_name(t), pattern=p)
                    continue
                kw = dict(kw)
                if "chunks" in kw:
                    kw["chunks"] = CHUNKS[k]
                f.dataset(path, t, shape, **kw)
    for n in range(4):  # higher ranks
        shape = (3, 4, 5, 6)[: n + 1]
        f.dataset(f"/rank/contiguous{n + 1}", "<f4", shape)
        f.dataset(f"/rank/chunked{n + 1}", "<f4", shape, chunks=(2, 3, 2, 4)[: n + 1], compression="gzip")
    f.dataset("/rank/big_piece", "<f8", (3, 40000))
    f.dataset("/rank/many_pieces", "<i2", (90000, 3))
    f.dataset("/rank/three", "<i2", (2, 70000, 2))
    return f.close()


def extremes(dirname, libver):
    """Values at the ends of the types, fills, odd types, scalars, nothing."""
    f = File(dirname, f"values_{libver}.h5", zipped=True, libver=libver)
    for t in DTYPES:
        d = np.dtype(t)
        if d.kind == "f":
            i = np.finfo(d)
            v = np.array([0.0, -0.0, 1, -1, i.max, i.min, i.tiny, i.tiny / 4, i.eps, np.inf, -np.inf, np.nan, 1 / 3], dtype=d)
        else:
            i = np.iinfo(d)
            v = np.array([0, 1, i.min, i.max, i.max - 1, i.min + 1, i.max // 3], dtype=d)
        n = type_name(t).replace(" ", "_")
        f.given(f"/extremes/{n}", v, d)
        f.given(f"/extremes_gzip/{n}", v, d, chunks=(4,), compression="gzip", shuffle=True)
        # chunks 0 and 2 of 4 are written, the rest is fill
        for fill, name in [(None, "nofill"), (3, "fill")]:
            w = np.full(39, 0 if fill is None else fill, dtype=d)
            w[0:10] = 5
            w[25] = 7
            x = f.h.create_dataset(f"/fill/{n}_{name}", (39,), dtype=d, chunks=(10,), fillvalue=fill, compression="gzip")
            x[0:10] = 5
            x[25] = 7
            f.know(x, type=type_name(t), values=[plain(y) for y in w])
        x = f.h.create_dataset(f"/unwritten/{n}", (2, 3), dtype=d, fillvalue=9)
        f.know(x, type=type_name(t), values=[9] * 6)
    f.given("/scalar/f8", np.float64(2.5))
    f.given("/scalar/i4", np.int32(-7))
    for shape in [(0,), (0, 3), (3, 0)]:
        n = "x".join(map(str, shape))
        f.given(f"/nothing/contiguous_{n}", np.zeros(shape, "<f4"))
        f.given(f"/nothing/chunked_{n}", np.zeros(shape, "<f4"), maxshape=(None,) * len(shape), chunks=(4,) * len(shape))
    x = f.h.create_dataset("/nothing/null", data=h5py.Empty("<f4"))
    f.truth["datasets"][x.name] = {"dims": None, "type": "float32 little-endian", "values": [], "null": True}
    # integers of odd precision and offset: 12 bits in 2 bytes, from bit 3
    for signed in (True, False):
        for order in (h5t.ORDER_LE, h5t.ORDER_BE):
            tid = (h5t.STD_I16LE if signed else h5t.STD_U16LE).copy()
            tid.set_precision(12)
            tid.set_offset(3)
            tid.set_order(order)
            v = np.array([0, 1, 5, 2047, -2048, -3] if signed else [0, 1, 5, 2047, 4095, 9], "<i2" if signed else "<u2")
            x = low_level(f, f"/odd/{'i' if signed else 'u'}12_{order}", "<i2", v.shape, lambda c: None, v, tid=tid)
            name = ("int16" if signed else "uint16") + (" big-endian" if order == h5t.ORDER_BE else " little-endian")
            f.know(x, type=name, error="datatype integer of 12 bits in 2 bytes: not supported")
    tid = h5t.STD_I32LE.copy()
    tid.set_size(3)
    v = np.array([0, 1, -1, 8388607, -8388608], "<i4")
    x = low_level(f, "/odd/i24", "<i4", v.shape, lambda c: None, v, tid=tid)
    f.know(x, type="int24 little-endian", error="datatype integer of 24 bits in 3 bytes: not supported")
    tid = h5t.IEEE_F32LE.copy()  # bfloat16
    tid.set_fields(15, 7, 8, 0, 7)
    tid.set_size(2)
    tid.set_precision(16)
    tid.set_ebias(127)
    v = np.array([0, 1, -2.5, 3.140625, 1e38 // 2**110 * 2.0**110, np.inf, -np.inf, np.nan, 2.0**-130], "<f4")
    v[4] = np.frombuffer(np.array([0x7E960000], "<u4").tobytes(), "<f4")[0]
    x = low_level(f, "/odd/bfloat16", "<f4", v.shape, lambda c: None, v, tid=tid)
    f.know(x, type="float16 little-endian", error="datatype float of 16 bits in 2 bytes: not supported")
    # enums are their integers; bool is one
    v = np.array([True, False, True])
    x = f.h.create_dataset("/enum/bool", data=v)
    f.know(x, type="enum of int8", values=[1, 0, 1])
    e = h5py.enum_dtype({"RED": 0, "GREEN": 300, "BLUE": -2}, basetype=">i2")
    x = f.h.create_dataset("/enum/colour", data=np.array([300, -2, 0]), dtype=e)
    f.know(x, type="enum of int16 big-endian", values=[300, -2, 0])
    f.h["/odd/named_type"] = np.dtype("<i2")
    x = f.h.create_dataset("/odd/of_named_type", data=[1, -2], dtype=f.h["/odd/named_type"])
    f.know(x, type="int16 little-endian", values=[1, -2])
    # text
    s = ["first", "zweiter: äöü°", ""]
    x = f.h.create_dataset("/text/variable", data=s, dtype=h5py.string_dtype())
    f.know(x, type="string of variable length", strings=s)
    x = f.h.create_dataset("/text/variable_chunked", (4,), maxshape=(None,), chunks=(2,), dtype=h5py.string_dtype())
    x[:3] = s
    f.know(x, type="string of variable length", strings=s + [""])
    x = f.h.create_dataset("/text/fixed", data=np.array([y.encode() for y in s], "S20"))
    f.know(x, type="string of 20 bytes", strings=s)
    tid = h5t.C_S1.copy()
    tid.set_size(8)
    tid.set_strpad(h5t.STR_SPACEPAD)
    x = low_level(f, "/text/blank_padded", "S8", (2,), lambda c: None, None, tid=tid)
    x.id.write(h5s.ALL, h5s.ALL, np.array([b"ab      ", b"cdefghij"], "S8"), mtype=tid)
    f.know(x, type="string of 8 bytes", strings=["ab", "cdefghij"])
    # compounds, by field; complex numbers are compounds of r and i
    c = np.zeros(5, dtype=[("t", "<f8"), ("n", ">i2"), ("name", "S4"), ("inner", [("a", "<f4"), ("b", "u1")])])
    c["t"] = [0, .5, 1, 1.5, 2]
    c["n"] = [1, -2, 3, -4, 5]
    c["inner"]["a"] = [9, 8, 7, 6, 5]
    c["inner"]["b"] = [1, 2, 3, 4, 255]
    for n, kw in [("contiguous", {}), ("gzip", {"chunks": (2,), "compression": "gzip", "shuffle": True})]:
        x = f.h.create_dataset(f"/compound/{n}", data=c, **kw)
        f.know(x, type="compound of 4 fields", error="dataset /compound/" + n + ": reading as numbers the datatype compound of 4 fields: not supported",
               fields={"t": c["t"].tolist(), "n": c["n"].tolist(), "inner.a": c["inner"]["a"].tolist(), "inner.b": c["inner"]["b"].tolist()})
    z = np.array([1 + 2j, -3 - 4j])
    x = f.h.create_dataset("/compound/complex", data=z)
    f.know(x, type="compound of 2 fields", error="compound of 2 fields", fields={"r": [1, -3], "i": [2, -4]})
    return f.close()


def chunk_indexes(dirname, libver):
    """Every index of chunks, short and long, full and with holes."""
    f = File(dirname, f"index_{libver}.h5", zipped=True, libver=libver)
    gz = {"compression": "gzip", "shuffle": True}
    for n, kw in [("plain", {}), ("gzip", gz), ("fletcher32", {"fletcher32": True})]:
        f.dataset(f"/single/{n}", "<f4", (50, 3), chunks=(50, 3), **kw)
        f.dataset(f"/fixed/{n}", "<f4", (50, 3), chunks=(7, 2), **kw)
        f.dataset(f"/fixed_paged/{n}", "<i2", (3000,), chunks=(1,) if not kw else (2,), **kw)
        f.dataset(f"/fixed_max/{n}", "<i2", (30, 5), maxshape=(100, 9), chunks=(7, 2), **kw)
        f.dataset(f"/extensible/{n}", "<i2", (300,), maxshape=(None,), chunks=(9,), **kw)
        f.dataset(f"/extensible_columns/{n}", "<i2", (5, 200), maxshape=(7, None), chunks=(2, 9), **kw)
        f.dataset(f"/extensible_rows/{n}", "<i2", (200, 5), maxshape=(None, 7), chunks=(9, 2), **kw)
        f.dataset(f"/extensible_long/{n}", "<i2", (2000,), maxshape=(None,), chunks=(1,), **kw)
        f.dataset(f"/btree2/{n}", "<i2", (40, 30), maxshape=(None, None), chunks=(7, 8), **kw)
        f.dataset(f"/btree2_deep/{n}", "<i2", (40, 30), maxshape=(None, None), chunks=(2, 2), **kw)
    f.dataset("/btree2_deeper/plain", "<i2", (110, 60), maxshape=(None, None), chunks=(1, 1))

    def early(c):
        c.set_chunk((7, 2))
        c.set_alloc_time(h5d.ALLOC_TIME_EARLY)

    p, v = f.values((50, 3), "<f4")
    f.know(low_level(f, "/implicit/plain", "<f4", (50, 3), early, v), type=type_name("<f4"), pattern=p)
    p, v = f.values((20, 3), "<f4")
    f.know(low_level(f, "/implicit/max", "<f4", (20, 3), early, v, maxshape=(50, 6)), type=type_name("<f4"), pattern=p)

    # holes: two values far apart, the second within a page of a secondary block
    def sparse(path, n, at, **kw):
        x = f.h.create_dataset(path, (n,), dtype="|i1", chunks=(1,), fillvalue=-1, **kw)
        for i in at:
            x[i] = i % 100
        f.know(x, type="int8", sparse={"fill": -1, "at": at, "values": [i % 100 for i in at]})

    sparse("/sparse/fixed_paged", 5000, [0, 1023, 1024, 3100, 4999])
    sparse("/sparse/extensible", 150000, [0, 3, 4, 19, 20, 100, 1000, 131060, 133000, 140000], maxshape=(None,))
    sparse("/sparse/extensible_gzip", 150000, [2, 5, 131061, 149999], maxshape=(None,), compression="gzip")
    x = f.h.create_dataset("/sparse/btree2", (400, 400), maxshape=(None, None), dtype="<f4", chunks=(1, 1), fillvalue=2)
    x[7, 8] = 1
    x[399, 0] = 3
    f.know(x, type="float32 little-endian", sparse={"fill": 2, "at": [7 * 400 + 8, 399 * 400], "values": [1, 3]})
    # grown after writing: chunks in another order than their numbers
    p, v = f.values((100, 4), "<f4")
    x = f.h.create_dataset("/grown/rows", (10, 4), maxshape=(None, 4), chunks=(3, 4), dtype="<f4", compression="gzip")
    x[:] = v[:10]
    x.resize((100, 4))
    x[50:] = v[50:]
    x[10:50] = v[10:50]
    f.know(x, type="float32 little-endian", pattern=p)
    # a chunk whose filters were skipped: written raw, as its mask states
    p, v = f.values((20,), "<f4")
    x = f.h.create_dataset("/masked/raw", (20,), dtype="<f4", chunks=(10,), compression="gzip", shuffle=True)
    x.id.write_direct_chunk((0,), v[:10].tobytes(), filter_mask=3)
    x[10:] = v[10:]
    f.know(x, type="float32 little-endian", pattern=p)
    return f.close()


def attributes(dirname, libver, track):
    name = f"attributes_{libver}" + ("_tracked" if track else "") + ".h5"
    f = File(dirname, name, libver=libver, track_order=track)
    g = f.h.create_group("group", track_order=track)
    d = f.given("/group/data", np.arange(3, dtype="<f4"))
    for o in [f.h, g, d]:
        f.attr(o, "zeta_f8", 2.5, "float", None, [2.5], dtype="<f8")
        f.attr(o, "rate_f4", np.float32(1 / 3), "float", None, [np.float32(1 / 3)], dtype=">f4")
        f.attr(o, "i4", -7, "int", None, [-7], dtype="<i4")
        f.attr(o, "i8", -(2**62) - 1, "int", None, [-(2**62) - 1], dtype="<i8")
        f.attr(o, "u8", 2**64 - 1, "uint", None, [2**64 - 1], dtype="<u8")
        f.attr(o, "u2_big", 65000, "uint", None, [65000], dtype=">u2")
        f.attr(o, "array_f8", [1.5, -2.5, 1e300], "float", [3], [1.5, -2.5, 1e300], dtype="<f8")
        f.attr(o, "matrix_i2", [[1, 2, 3], [4, 5, -6]], "int", [2, 3], [1, 2, 3, 4, 5, -6], dtype="<i2")
        f.attr(o, "one_in_array", [48000.0], "float", [1], [48000.0], dtype="<f8")
        f.attr(o, "text_variable", "Schalldruck in µPa, 20 °C", "string", None, ["Schalldruck in µPa, 20 °C"], dtype=h5py.string_dtype())
        f.attr(o, "text_fixed", np.bytes_(b"V/Pa"), "string", None, ["V/Pa"], dtype="S4")
        f.attr(o, "text_fixed_utf8", np.bytes_("°C".encode()), "string", None, ["°C"], dtype=h5py.string_dtype(length=8))
        f.attr(o, "text_latin1", np.bytes_("m/s²".encode("latin-1")), "string", None, ["m/s²"], dtype="S8")
        f.attr(o, "text_empty", "", "string", None, [""], dtype=h5py.string_dtype())
        f.attr(o, "texts", ["mic 1", "", "mic 3"], "string", [3], ["mic 1", "", "mic 3"], dtype=h5py.string_dtype())
        f.attr(o, "texts_fixed", np.array([b"a", b"bcd"]), "string", [2], ["a", "bcd"], dtype="S3")
        f.attr(o, "bool", True, "int", None, [1], dtype=bool)
        f.attr(o, "bools", [True, False], "int", [2], [1, 0], dtype=bool)
        f.attr(o, "null", h5py.Empty("f4"), "null", None, [])
        f.attr(o, "none_of_three", np.zeros((0, 3), "<f4"), "float", [0, 3], [])
        f.attr(o, "complex", 1 + 2j, "error", None, ["compound of 2 fields"])
        f.attr(o, "reference", f.h.ref, "error", None, ["object reference"], dtype=h5py.ref_dtype)
    many = f.h.create_group("many", track_order=track)
    for i in range(60):
        f.attr(many, f"channel {(i * 37) % 60:02d}", float(i), "float", None, [float(i)])
    for o in [f.h, many]:
        f.truth.setdefault("attribute_order", {})[o.name] = list(f.truth["attributes"][o.name]) if track else sorted(f.truth["attributes"][o.name])
    if libver == "latest":
        big = f.h.create_group("big", track_order=track)
        for i in range(10):
            f.attr(big, f"small {i}", i, "int", None, [i], dtype="<i4")
        v = expand({"mul": 1, "add": 0, "mod": 10, "low": 0, "div": 1}, 70000, "u1")
        big.attrs.create("large", v)
        f.truth["attributes"]["/big"]["?"] = {"kind": "error", "dims": None, "values": ["an attribute of 64 KiB and more"]}
    return f.close()


def groups(dirname, libver, track):
    name = f"groups_{libver}" + ("_tracked" if track else "") + ".h5"
    f = File(dirname, name, libver=libver, track_order=track)
    for n in (1, 9, 130):
        f.h.create_group(f"n{n}", track_order=track)
        for i in range(n):
            f.given(f"/n{n}/item {(i * 37) % n:03d}", np.array([i, -i], "<i2"))
    f.h.create_group("leer")
    f.given("/a/b/c/d/e/tief", [1.0, 2.0])
    f.h["/alias"] = f.h["/a/b"]
    f.h["/a/b/zurück"] = f.h["/a"]
    f.h["/soft"] = h5py.SoftLink("/a/b/c/d/e/tief")
    f.h["/a/relative"] = h5py.SoftLink("b/c/./d/e")
    f.h["/a/up"] = h5py.SoftLink("/soft")
    f.h["/dangling"] = h5py.SoftLink("/nowhere/at/all")
    f.h["/circle"] = h5py.SoftLink("/circle")
    f.h["/elsewhere"] = h5py.ExternalLink("other.h5", "/data")
    return f.close()


def matlab(dirname):
    """As MATLAB writes v7.3: 512 bytes in front, old format, MATLAB_class."""
    f = File(dirname, "matlab73.mat", userblock_size=512, libver="earliest")
    cls = lambda o, s: f.attr(o, "MATLAB_class", np.bytes_(s.encode()), "string", None, [s], dtype=f"S{len(s)}")
    x = f.dataset("/p", "<f8", (1, 2000), chunks=(1, 500), compression="gzip", compression_opts=3)
    cls(x, "double")
    x = f.dataset("/counts", "<i2", (40, 3), chunks=(10, 3), compression="gzip", compression_opts=3)
    cls(x, "int16")
    x = f.given("/fs", [[51200.0]])
    cls(x, "double")
    x = f.given("/name", np.array([[ord(c)] for c in "Rotor 2b"], "<u2"))
    cls(x, "char")
    f.attr(x, "MATLAB_int_decode", np.int32(2), "int", None, [2], dtype="<i4")
    x = f.given("/leer", np.zeros(2, "<u8"))
    cls(x, "double")
    f.attr(x, "MATLAB_empty", np.uint8(1), "uint", None, [1], dtype="u1")
    x = f.given("/valid", np.array([[1], [0]], "u1"))
    cls(x, "logical")
    s = f.h.create_group("s")
    cls(s, "struct")
    names = ["rpm", "tau"]
    v = np.empty(2, dtype=object)
    for i, n in enumerate(names):
        v[i] = np.array([c.encode() for c in n], "S1")
    s.attrs.create("MATLAB_fields", v, dtype=h5py.vlen_dtype(np.dtype("S1")))
    f.attr(s, "MATLAB_fields", None, "error", [2], ["datatype sequence of string of 1 bytes"])
    cls(f.given("/s/rpm", [[3000.0]]), "double")
    cls(f.given("/s/tau", [[.25, .5]]), "double")
    f.given("/#refs#/a", [[1.0, 2.0]])
    f.given("/#refs#/b", [[3.0]])
    x = f.h.create_dataset("/cells", (2, 1), dtype=h5py.ref_dtype)
    x[0, 0], x[1, 0] = f.h["/#refs#/a"].ref, f.h["/#refs#/b"].ref
    f.know(x, type="object reference", error="object reference", references=["/#refs#/a", "/#refs#/b"])
    cls(x, "cell")
    t = f.close()
    with open(f.path, "r+b") as h:
        text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Thu Jan  1 00:00:00 1970 HDF5 schema 1.00 ."
        h.write(text.ljust(116) + bytes(8) + b"\x00\x02IM")
    return t


def isae(dirname):
    """Published layout of ISAE-SUPAERO: vectors (1, N), spectra of three axes."""
    f = File(dirname, "ISAE_2_square20_L0.h5", libver="earliest")
    r = "ISAE_2_square20_L0"
    f.h.create_group(r)
    f.given(f"/{r}/frequency_Hz", np.arange(40, dtype="<f8").reshape(1, 40) * 3.125)
    f.given(f"/{r}/theta_deg", np.arange(-60.0, 61, 10).reshape(1, 13))
    f.given(f"/{r}/phi_deg", [[0.0, 90.0]])
    f.given(f"/{r}/radius_m", [[1.62]])
    for rpm in (6000, 8000):
        d = f.dataset(f"/{r}/Autopower/Autopower_RPM_{rpm}_Pa2", "<f8", (40, 13, 2), chunks=(20, 13, 1), compression="gzip")
        f.attr(d, "unit", "Pa²", "string", None, ["Pa²"], dtype=h5py.string_dtype())
    return f.close()


def windtunnel(dirname):
    """Published layout of a wind-tunnel acquisition: Table1, time first, period as attribute."""
    f = File(dirname, "windtunnel_U10_a4.h5", libver="earliest")
    f.h.create_group("Table1")
    f.given("/Table1/Ds01-Time", np.arange(500, dtype="<f8") / 16384)
    for i, n in enumerate(["TACHO", "MIC01", "MIC02"]):
        d = f.dataset(f"/Table1/Ds{i + 2:02d}-{n}", "<f4", (500,), chunks=(256,), compression="gzip")
        f.attr(d, "ChannelInformationSamplingPeriod", 1 / 16384, "float", None, [1 / 16384], dtype="<f8")
        f.attr(d, "ChannelInformationUnit", np.bytes_(b"Pa" if i else b"V"), "string", None, ["Pa" if i else "V"], dtype="S2")
    return f.close()


def refused(dirname):
    """Sound features that are not read must be named in errors."""
    f = File(dirname, "refused.h5", libver="latest")

    def filtered(path, number, options=(), t="<i4"):
        def prepare(c):
            c.set_chunk((4,))
            c.set_filter(number, h5z.FLAG_OPTIONAL, tuple(options))

        return low_level(f, path, t, (8,), prepare)

    for number, name in [(32015, "zstd"), (32001, "blosc"), (32004, "lz4"), (32008, "bitshuffle"), (307, "bzip2")]:
        d = filtered(f"/{name}/b", number)
        f.know(d, type="int32 little-endian", error=f"dataset /{name}/b: filter {number} ({name}): not supported")
    d = filtered("/unknown", 40000)
    f.know(d, type="int32 little-endian", error="dataset /unknown: filter 40000: not supported")
    x = f.h.create_dataset("/scaleoffset", data=np.arange(8), scaleoffset=0, chunks=(4,), dtype="<i4")
    f.know(x, type="int32 little-endian", error="filter 6 (scaleoffset): not supported")
    if h5z.filter_avail(4):
        x = f.h.create_dataset("/szip", data=np.arange(64), compression="szip", chunks=(64,), dtype="<i4")
        f.know(x, type="int32 little-endian", error="dataset /szip: filter 4 (szip): not supported")
    layout = h5py.VirtualLayout(shape=(4,), dtype="<f4")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(4,))
    x = f.h.create_virtual_dataset("/virtual", layout)
    f.know(x, type="float32 little-endian", error="dataset /virtual: the virtual layout (data in other files): not supported")
    x = f.h.create_dataset("/external", (4,), dtype="<f4", external=[("raw.bin", 0, 16)])
    f.know(x, type="float32 little-endian", error="dataset /external: storage in external files: not supported")
    for n, t, what in [
        ("opaque", np.dtype("V5"), "opaque"),
        ("array", np.dtype(("<f4", (3,))), "array of float32 little-endian"),
        ("longdouble", np.dtype(np.longdouble), "float of 80 bits in 16 bytes"),
        ("sequence", h5py.vlen_dtype(np.dtype("<f4")), "sequence of float32 little-endian"),
        ("region", h5py.regionref_dtype, "reference"),
        ("reference", h5py.ref_dtype, "object reference"),
        ("text", np.dtype("S3"), "string of 3 bytes"),
    ]:
        x = f.h.create_dataset("/type/" + n, (2,), dtype=t)
        f.know(x, type={"longdouble": "float128 little-endian"}.get(n, what), error=f"dataset /type/{n}: reading as numbers the datatype {what}: not supported")
    return f.close()


def library():
    """The HDF5 library h5py has loaded, for what h5py does not offer."""
    with open("/proc/self/maps") as f:
        for line in f:
            if "libhdf5" in line and "_hl" not in line:
                return ctypes.CDLL(line.split()[-1])
    sys.exit("no libhdf5 loaded")


def call(name, *args):
    if getattr(library(), name)(*args) < 0:
        sys.exit(name + " failed")


def options(dirname):
    """What an application may choose for a whole file."""
    out = []

    def fill(f, unlimited=True):
        for i in range(40):
            f.given(f"/many/item {i}", np.array([i, -i], "<i2"))
        f.dataset("/long", "<i2", (400,), chunks=(3,))
        if unlimited:
            f.dataset("/long_gzip", "<f4", (40, 7), chunks=(3, 2), maxshape=(None, 7), compression="gzip", fletcher32=True)
            f.dataset("/rows", "<f4", (40, 7), chunks=(3, 2), maxshape=(None, None), compression="gzip")
        f.dataset("/fixed", ">f8", (40, 7), chunks=(30, 7), compression="gzip")
        f.dataset("/contiguous", ">i4", (1, 77))
        f.attr(f.h["/long"], "text", "äöü", "string", None, ["äöü"], dtype=h5py.string_dtype())
        for i in range(20):
            f.attr(f.h["/fixed"], f"number {i}", i, "int", None, [i], dtype="<i4")
        return f.close()

    def cast(p):
        return ctypes.c_int64(p.id)

    c = h5p.create(h5p.FILE_CREATE)
    call("H5Pset_istore_k", cast(c), 2)
    call("H5Pset_sym_k", cast(c), 2, 2)
    out.append(fill(File(dirname, "narrow_trees.h5", True, fcpl=c, libver="earliest")))
    c = h5p.create(h5p.FILE_CREATE)
    c.set_file_space_strategy(h5f.FSPACE_STRATEGY_PAGE, True, 1)
    out.append(fill(File(dirname, "paged_space.h5", True, fcpl=c, libver="latest")))

    # every byte of this one is under a checksum
    f = File(dirname, "checked.h5", libver="latest")
    f.dataset("/a", "<f4", (40,), chunks=(9,), fletcher32=True)
    f.dataset("/b", "<i2", (20, 3), chunks=(9, 2), maxshape=(None, 3), compression="gzip", fletcher32=True)
    f.dataset("/c", "<i2", (12, 3), chunks=(9, 2), maxshape=(None, None), compression="gzip", shuffle=True)
    f.attr(f.h["/a"], "unit", np.bytes_(b"Pa"), "string", None, ["Pa"], dtype="S2")
    for i in range(10):
        f.attr(f.h["/b"], f"a{i}", i, "int", None, [i], dtype="<i4")
    out.append(f.close())

    # chunks at the edge may stay unfiltered; nbit has no function in h5py
    f = File(dirname, "edges_raw.h5", libver="latest")
    for n, kw in [("one", {}), ("rows", {"maxshape": (None, 5)}), ("both", {"maxshape": (None, None)})]:
        p, v = f.values((20, 5), "<f4")

        def prepare(c):
            c.set_chunk((7, 5))
            c.set_shuffle()
            c.set_deflate(4)
            call("H5Pset_chunk_opts", cast(c), 2)

        d = low_level(f, "/" + n, "<f4", (20, 5), prepare, v, **kw)
        f.know(d, type=type_name("<f4"), pattern=p)

    def nbit(c):
        c.set_chunk((4,))
        call("H5Pset_nbit", cast(c))

    d = low_level(f, "/nbit", "<i4", (8,), nbit, np.arange(8, dtype="<i4"))
    f.know(d, type="int32 little-endian", error="filter 5 (nbit): not supported")
    out.append(f.close())
    return out


def write_random(dirname, n):
    """Files of random layout; more cases than anybody would list."""
    out = []
    for k in range(n):
        rng = np.random.default_rng(k)
        libver = [("earliest", "latest"), ("earliest", "v108"), ("v108", "v108"), ("latest", "latest"), ("v110", "v110")][rng.integers(5)]
        f = File(dirname, f"random{k:04d}.h5", libver=libver, userblock_size=int(rng.choice([0, 0, 0, 512, 1024, 4096])), track_order=bool(rng.integers(2)))
        for i in range(rng.integers(1, 60)):
            t = rng.choice(DTYPES)
            rank = int(rng.choice([1, 1, 2, 2, 3, 4]))
            shape = tuple(int(x) for x in rng.integers(1, {1: 5000, 2: 70, 3: 17, 4: 8}[rank], rank))
            kw = {}
            if rng.random() < .75:
                kw["chunks"] = tuple(int(rng.integers(1, min(s, 40) + 1)) for s in shape)
                if rng.random() < .5:
                    kw["compression"] = rng.choice(["gzip", "lzf"])
                kw["shuffle"] = bool(rng.random() < .5)
                kw["fletcher32"] = bool(rng.random() < .3)
                kw["maxshape"] = tuple(None if x < .4 else s + int(20 * x) if x < .7 else s for x, s in zip(rng.random(rank), shape))
                kw["maxshape"] = tuple(None if m is None else max(m, c) for m, c in zip(kw["maxshape"], kw["chunks"]))
            path = "/".join([""] + [f"g{rng.integers(3)}" for _ in range(rng.integers(0, 4))] + [f"d{i}"])
            d = f.dataset(path, t, shape, **kw)
            for a in range(rng.choice([0, 0, 1, 3, 20])):
                v = rng.integers(-100, 100, int(rng.integers(1, 9)))
                f.attr(d, f"attr{a}" + "x" * int(rng.integers(0, 30)), v, "int", [len(v)], v, dtype="<i4")
        out.append(f.close())
    return out


def main():
    args = [a for a in sys.argv[1:]]
    n = 0
    if "--random" in args:
        i = args.index("--random")
        n = int(args[i + 1])
        del args[i : i + 2]
    d = args[0] if args else HERE
    if n:
        out = write_random(d, n)
    else:
        out = []
        for libver in ("earliest", "latest"):
            out += [matrix(d, libver), extremes(d, libver), chunk_indexes(d, libver)]
            for track in (False, True):
                out += [attributes(d, libver, track), groups(d, libver, track)]
        out += [matlab(d), isae(d), windtunnel(d), refused(d)] + options(d)
    with gzip.GzipFile(os.path.join(d, "truth.json.gz"), "wb", 9, mtime=0) as g:
        g.write(json.dumps(out, ensure_ascii=False, separators=(",", ":")).encode())


main()
