"""Writes conventions/ and conventions/truth.json: packed numbers by netCDF4 and
h5py, and the same arrays as MAT-files of level 5 (scipy.io) and 7.3 (h5py, laid
out as MATLAB does). Run: python3 make_conventions.py (in this folder).

Expected values are numpy's of what the writers were given. Where netCDF4 unpacks,
its masked arrays are checked against them."""
import json
import os
import struct

import h5py
import netCDF4
import numpy as np
import scipy.io
import scipy.io.wavfile

os.makedirs("conventions", exist_ok=True)
rng = np.random.default_rng(21)
truth = {}


def values(x):
    return [None if np.isnan(v) else float(v) for v in np.ravel(x)]


def put(name, channels, attributes=None, unread=None, time_axis=""):
    truth.setdefault(name, []).append({
        "time_axis": time_axis, "channels": {k: values(v) for k, v in channels.items()}, "attributes": attributes or {},
        "unread": unread or {}})


# Packed numbers as netCDF4 files hold them.
n = 40
stored = rng.integers(-9000, 9000, n).astype("i2")
stored[7], stored[9], stored[11] = -32768, 30001, -7777  # _FillValue, beyond valid_range, missing_value
unsigned = rng.integers(0, 256, n).astype("u1")
single = rng.normal(size=n).astype("f4")
single[3] = -999.9
limited = np.linspace(-2, 2, n)
with netCDF4.Dataset("conventions/packed.nc", "w") as f:
    f.createDimension("sample", None)
    f.createDimension("fixed", n)
    f.set_auto_maskandscale(False)
    v = f.createVariable("pressure", "i2", ("sample",), fill_value=-32768)
    v.set_auto_maskandscale(False)
    v.setncatts({"scale_factor": 0.001, "add_offset": 1.5, "units": "Pa", "valid_range": np.array([-30000, 30000], "i2"), "missing_value": np.int16(-7777)})
    v[:] = stored
    v = f.createVariable("narrow_scale", "i2", ("sample",))
    v.set_auto_maskandscale(False)
    v.scale_factor = np.float32(0.01)
    v[:] = stored
    v = f.createVariable("unsigned", "i1", ("sample",))
    v.set_auto_maskandscale(False)
    v.setncatts({"_Unsigned": "true", "scale_factor": 0.5})
    v[:] = unsigned.view("i1")
    v = f.createVariable("missing", "f4", ("sample",))
    v.missing_value = np.float32(-999.9)
    v[:] = single
    v = f.createVariable("limited", "f8", ("fixed",))
    v.setncatts({"valid_min": -1.0, "valid_max": 1.5})
    v[:] = limited
    v = f.createVariable("limits_of_values", "i2", ("sample",))
    v.set_auto_maskandscale(False)
    v.setncatts({"scale_factor": 0.001, "valid_range": np.array([-5.0, 5.0])})
    v[:] = stored
    v = f.createVariable("half_written", "f8", ("fixed",))
    v[: n // 2] = limited[: n // 2]
    f.createVariable("gain", "i2", ()).scale_factor = 0.25
    f["gain"][:] = 10.0
packed = stored * 0.001 + 1.5
packed[[7, 9, 11]] = np.nan
missing = single.astype("f8")
missing[3] = np.nan
of_values = stored * 0.001
of_values[np.abs(of_values) > 5] = np.nan
half = np.where(np.arange(n) < n // 2, limited, np.nan)
expected = {
    "/pressure": packed, "/narrow_scale": stored * float(np.float32(0.01)), "/unsigned": unsigned * 0.5, "/missing": missing,
    "/limited": np.where((limited < -1) | (limited > 1.5), np.nan, limited), "/limits_of_values": of_values, "/half_written": half}
with netCDF4.Dataset("conventions/packed.nc") as f:
    for name, x in expected.items():
        if name != "/limits_of_values":  # netCDF4 takes these limits for those of the stored numbers
            y = np.ma.filled(f[name[1:]][:].astype("f8"), np.nan)
            assert np.allclose(x, y, rtol=1e-6, atol=0, equal_nan=True), name
put("packed.nc", expected, {"/gain": "10"}, {"/sample": "a netCDF dimension without values", "/fixed": "a netCDF dimension without values"})

# The same attributes in files of others.
with h5py.File("conventions/packed.h5", "w") as f:
    for name, kw in [("good", {"scale_factor": 0.001}), ("text", {"scale_factor": "0.002"}), ("bad", {"scale_factor": "fast"}),
                     ("pair", {"scale_factor": [1.0, 2.0]}), ("none", {"missing_value": "none"}), ("zero", {"add_offset": np.nan})]:
        f[name] = stored
        f[name].attrs.update(kw)
    f["table"] = np.array([(1.0, 2.0)] * 5, [("a", "f8"), ("b", "f8")])
    f["table"].attrs["scale_factor"] = 2.0
put("packed.h5", {"/good": stored * 0.001, "/text": stored * 0.002, "/none": stored}, {}, {
    "/bad": "one finite number in the attribute scale_factor", "/pair": "one finite number in the attribute scale_factor",
    "/zero": "one finite number in the attribute add_offset", "/table.a": "a table", "/table.b": "a table"})

# Samples by the billion that were declared and never written.
with h5py.File("conventions/billions.h5", "w") as f:
    f.create_dataset("chunked", (10**10,), "f8", chunks=(1 << 16,))
    f.create_dataset("contiguous", (10**10, 2), "f4")
    f["written"] = limited
put("billions.h5", {"/written": limited}, {}, {
    "/chunked": "10000000000 samples are declared", "/contiguous": "20000000000 samples are declared"})

# Axes: one meaning in both versions of MATLAB's files.
N = 12
arrays = {
    "x": rng.normal(size=(N, 2, 3)), "last": rng.normal(size=(2, 3, N)), "middle": rng.normal(size=(2, N, 3)),
    "tall": rng.normal(size=(N, 2)), "wide": rng.normal(size=(2, N)), "row": rng.normal(size=(1, N)), "square": rng.normal(size=(4, 4)),
    "z": rng.normal(size=(N, 2)) + 1j * rng.normal(size=(N, 2)), "counts": rng.integers(-9, 9, (N, 2)).astype("i2"),
}
text = ["first run ", "second run"]
scipy.io.savemat("conventions/axes_v5.mat", {**arrays, "site": np.array(text)}, do_compression=True)
scipy.io.savemat("conventions/axes_v6.mat", {**arrays, "site": np.array(text)})
with h5py.File("conventions/axes_v73.mat", "w", userblock_size=512) as f:
    def var(name, x, cls):
        f[name] = x.T
        f[name].attrs["MATLAB_class"] = np.bytes_(cls)
    for name, x in arrays.items():
        if np.iscomplexobj(x):
            pair = np.empty(x.shape, [("real", "f8"), ("imag", "f8")])
            pair["real"], pair["imag"] = x.real, x.imag
            x = pair
        var(name, x, "int16" if x.dtype == "i2" else "double")
    var("site", np.array([[ord(c) for c in t] for t in text], "u2"), "char")
    f.create_group("sparse").attrs["MATLAB_sparse"] = np.uint64(9)
    f["sparse"].attrs["MATLAB_class"] = np.bytes_("double")
    for name, x in [("data", np.ones(7)), ("ir", np.arange(7, dtype="u8")), ("jc", np.arange(10, dtype="u8"))]:
        f["sparse/" + name] = x
    var("when", np.array([[0xDD000000, 2, 1, 1, 1, 1]], "u4"), "datetime")
    f["when"].attrs["MATLAB_object_decode"] = np.int32(3)
with open("conventions/axes_v73.mat", "r+b") as f:
    f.write(b"MATLAB 7.3 MAT-file, written by h5py".ljust(124) + b"\x00\x02IM")


def channels(axis):
    """Channels of every array by MATLAB's indices; axis is that of time: "" the longest at an end, first, middle or last."""
    out = {}
    for name, x in arrays.items():
        longest = axis == "" or name == "row" or axis == "middle" and x.ndim < 3
        t = int(np.argmax(x.shape)) if longest else {"first": 0, "middle": 1, "last": x.ndim - 1}[axis]
        if longest and name == "square" or axis == "" and name == "middle":
            continue
        y = np.moveaxis(x, t, 0)
        for part, z in [(".real", y.real), (".imag", y.imag)] if np.iscomplexobj(x) else [("", y)]:
            for i in np.ndindex(*y.shape[1:]):
                index = "" if name == "row" else "[" + ",".join(str(k + 1) for k in i) + "]"
                out[name + part + index] = z[(slice(None), *i)]
    return out


for file in ["axes_v5.mat", "axes_v6.mat", "axes_v73.mat"]:
    for axis in ["", "first", "middle", "last"]:
        unread = {"square": "expected one longest axis, which is time, found shape [4 4]"} if axis in ("", "middle") else {}
        if axis == "":
            unread["middle"] = "expected time as the first or the last axis, or a name of each axis, found shape [2 12 3]"
        if file == "axes_v73.mat":
            unread |= {"sparse": "sparse arrays are not read", "when": "objects and function handles are not read"}
        put(file, channels(axis), {"site": "\n".join(text)}, unread, axis)

# NumPy's arrays, by the same rule.
np.save("conventions/square.npy", arrays["square"])
np.savez("conventions/square.npz", s=np.asfortranarray(arrays["square"]))
for axis, y in [("first", arrays["square"].T), ("last", arrays["square"])]:
    put("square.npy", {str(i + 1): x for i, x in enumerate(y)}, time_axis=axis)
    put("square.npz", {f"s[{i + 1}]": x for i, x in enumerate(y)}, time_axis=axis)

# Floats of 16 bits: every 37th there is.
half = np.arange(0, 65536, 37, dtype="u2").view("f2")
half = half[~np.isinf(half)]
np.save("conventions/half.npy", half)
np.save("conventions/half_big.npy", half.astype(">f2"))
for name in ["half.npy", "half_big.npy"]:
    put(name, {"1": half.astype("f8")})

# 24 bits in containers of 4 bytes, which scipy reads left-justified.
x = (rng.integers(-(2**23), 2**23, (20, 2)) << 8).astype("<i4").tobytes()
with open("conventions/pcm24in32.wav", "wb") as f:
    f.write(b"RIFF" + struct.pack("<I", 36 + len(x)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 2, 8000, 64000, 8, 24) + b"data" + struct.pack("<I", len(x)) + x)
frames = scipy.io.wavfile.read("conventions/pcm24in32.wav")[1] / 2**31
put("pcm24in32.wav", {"1": frames[:, 0], "2": frames[:, 1]})

with open("conventions/truth.json", "w") as f:
    json.dump(truth, f)
