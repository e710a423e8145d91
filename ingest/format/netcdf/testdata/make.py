"""Writes netCDF files of the classic formats by scipy 1.10 (scipy.io.netcdf_file) and
netCDF4 1.6 (Unidata's library), and in truth.json what netCDF4 reads from them: masked
values as NaN, each array's longest axis as time, its channels in the order of the
others. Run in this folder: /usr/bin/python3 make.py"""
import json

import netCDF4
import numpy as np
from scipy.io import netcdf_file

rng = np.random.default_rng(3)
N = 19


def kinds(f, dims, types):
    for t in types:
        v = f.createVariable("v_" + t, t, dims)
        shape = tuple(len(f.dimensions[d]) if hasattr(f.dimensions[d], "__len__") else f.dimensions[d] or N for d in dims)
        v[:] = (rng.uniform(-100, 100, shape) if t[0] != "u" else rng.uniform(0, 200, shape)).astype(t)


def scipy_files():
    for version in 1, 2:
        with netcdf_file("scipy_%d.nc" % version, "w", version=version) as f:
            f.title, f.rate_hz = "wing", 2000.0
            f.createDimension("time", N)
            f.createDimension("mic", 3)
            kinds(f, ("time", "mic"), ["i1", "i2", "i4", "f4", "f8"])
            kinds_plane = f.createVariable("plane", "f4", ("mic", "time"))
            kinds_plane[:] = rng.standard_normal((3, N))
            kinds_plane.units = "Pa"
            f.createVariable("rpm", "f8", ())[...] = 3000.5
    with netcdf_file("scipy_records.nc", "w") as f:
        f.createDimension("time", None)
        f.createDimension("mic", 3)
        t = f.createVariable("time", "f8", ("time",))
        p = f.createVariable("p", "i2", ("time", "mic"))  # 6 bytes, padded to 8
        q = f.createVariable("q", "i1", ("time",))
        fixed = f.createVariable("fixed", "f4", ("mic",))
        t[:N] = np.arange(N) / 2048
        p[:N] = rng.integers(-30000, 30000, (N, 3))
        q[:N] = rng.integers(-100, 100, N)
        fixed[:] = [1, 2, 3]
        t.units, p.units = "s", "Pa"
    with netcdf_file("scipy_one_record.nc", "w") as f:  # alone: no padding
        f.createDimension("time", None)
        f.createDimension("mic", 3)
        f.createVariable("p", "i1", ("time", "mic"))[:N] = rng.integers(-100, 100, (N, 3))


def netcdf4_files():
    for form in "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA":
        with netCDF4.Dataset(form.lower() + ".nc", "w", format=form) as f:
            f.createDimension("time", None)
            f.createDimension("fixed", N)
            f.createDimension("a", 2)
            f.createDimension("b", 3)
            more = ["u1", "u2", "u4", "i8", "u8"] if form.endswith("DATA") else []
            kinds(f, ("a", "fixed", "b"), ["i1", "i2", "i4", "f4", "f8"] + more)
            t = f.createVariable("time", "f8", ("time",))
            t[:] = np.arange(N) / 2048 + 5
            t.units = "seconds since 2026-01-01 00:00:00"
            v = f.createVariable("records", "i2", ("time", "b"))
            v[:] = rng.integers(-9, 9, (N, 3))
    with netCDF4.Dataset("packed.nc", "w", format="NETCDF3_CLASSIC") as f:
        f.createDimension("time", N)
        raw = rng.integers(-1000, 1000, N)
        raw[3], raw[5], raw[7] = -999, 777, -998
        for name, kind, attributes in [
            ("scaled", "i2", dict(scale_factor=0.5, add_offset=3.25)),
            ("scale", "i2", dict(scale_factor=np.float32(0.1))),
            ("filled", "i2", dict(_FillValue=np.int16(-999), scale_factor=2.0)),
            ("missing", "i4", dict(missing_value=np.array([-999, 777], "i4"))),
            ("range", "i2", dict(valid_range=np.array([-500, 500], "i2"))),
            ("limits", "f4", dict(valid_min=np.float32(-100), valid_max=np.float32(900))),
            ("unsigned", "i1", dict(_Unsigned="true", scale_factor=0.25)),
            ("plain", "f4", {}),
            ("unwritten", "f4", None),
            ("unwritten_short", "i2", None),
        ]:
            fill = (attributes or {}).pop("_FillValue", None)
            v = f.createVariable(name, kind, ("time",), fill_value=fill)
            if attributes is None:
                v[:5] = np.arange(5)
                continue
            v.setncatts(attributes)
            v.set_auto_maskandscale(False)
            v[:] = (raw % 250).astype("u1").view("i1") if name == "unsigned" else raw


scipy_files()
netcdf4_files()
truth = {}
for name in ["scipy_1.nc", "scipy_2.nc", "scipy_records.nc", "scipy_one_record.nc", "netcdf3_classic.nc",
             "netcdf3_64bit_offset.nc", "netcdf3_64bit_data.nc", "packed.nc"]:
    with netCDF4.Dataset(name) as f:
        out = []
        for v in f.variables.values():
            if v.size > 1:
                x = np.ma.filled(np.ma.asarray(v[:]).astype("f8"), np.nan)
                x = np.moveaxis(x, int(np.argmax(x.shape)), -1).reshape(-1, max(x.shape))
                out += [[None if np.isnan(c) else float(c) for c in row] for row in x]
        truth[name] = out
json.dump(truth, open("truth.json", "w"))
