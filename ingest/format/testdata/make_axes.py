#!/usr/bin/env python3
"""Writes axes/: arrays whose axes have names, and truth.json with what the writers were
given, as make_layouts.py does. Time is never the longest axis.

    python3 make_axes.py

Written by netCDF4, h5netcdf, h5py, scipy and numpy; the impulse responses have the
dimensions and variables of AES69 (SOFA): M measurements, R receivers, N samples.
"""
import json
import os

import h5netcdf
import h5py
import netCDF4
import numpy as np
import scipy.io

os.chdir(os.path.dirname(os.path.abspath(__file__)))
os.makedirs("axes", exist_ok=True)
N, M = 20, 30
data = ((np.arange(N * M) * 7919 % 251 - 125) / 8).reshape(N, M)
clock = np.arange(N) / 12800
truth = {}


def put(name, rate, recorded, conditions=None):
    truth[name] = {
        "rate": rate,
        "recorded": {k: {"unit": "", "data": [float(x) for x in v]} for k, v in recorded.items()},
        "conditions": {k: [float(x) for x in v] for k, v in (conditions or {}).items()},
    }


def each(name, columns):
    return {f"{name}[{i + 1}]": columns[:, i] for i in range(columns.shape[1])}


def netcdf(f):
    f.createDimension("time", N)
    f.createDimension("mic", M)
    f.createVariable("time", "f8", ("time",))[:] = clock
    f.createVariable("p", "f8", ("time", "mic"))[:] = data
    f.createVariable("q", "f8", ("mic", "time"))[:] = data.T


with netCDF4.Dataset("axes/netcdf4.nc", "w") as f:
    netcdf(f)
put("netcdf4.nc", 12800, each("/p", data) | each("/q", data))
with netCDF4.Dataset("axes/classic.nc", "w", format="NETCDF3_CLASSIC") as f:
    netcdf(f)
with scipy.io.netcdf_file("axes/scipy.nc", "w") as f:
    netcdf(f)
for name in ["classic.nc", "scipy.nc"]:
    put(name, 12800, each("p", data) | each("q", data))

# The unit of an axis's coordinate tells it where its name does not.
with netCDF4.Dataset("axes/since.nc", "w") as f:
    f.createDimension("frame", N)
    f.createDimension("mic", M)
    v = f.createVariable("frame", "f8", ("frame",))
    v.units = "milliseconds since 2020-01-01"
    v[:] = 1000 * clock
    f.createVariable("p", "f8", ("mic", "frame"))[:] = data.T
put("since.nc", 12800, each("/p", data))

with h5netcdf.File("axes/h5netcdf.nc", "w") as f:
    f.dimensions = {"mic": M, "time": N}
    f.create_variable("time", ("time",), data=clock)
    f.create_variable("p", ("mic", "time"), data=data.T)
put("h5netcdf.nc", 12800, each("/p", data))

with h5py.File("axes/scales.h5", "w") as f:
    f.attrs["fs"] = 12800.0
    f["axes/time"], f["axes/mic"] = clock, np.arange(M)
    f["p"], f["labelled"], f["middle"] = data, data.T, np.stack([data[:, :M // 2]] * 3)
    for scale in f["axes"].values():
        scale.make_scale(os.path.basename(scale.name))
    f["p"].dims[0].attach_scale(f["axes/time"])
    f["p"].dims[1].attach_scale(f["axes/mic"])
    f["labelled"].dims[0].label, f["labelled"].dims[1].label = "microphone", "time"
    f["middle"].dims[1].attach_scale(f["axes/time"])
middle = {f"/middle[{k + 1},{i + 1}]": data[:, i] for k in range(3) for i in range(M // 2)}
put("scales.h5", 12800, each("/p", data) | each("/labelled", data) | middle)

# A clock of the length of one axis.
with h5py.File("axes/clock.h5", "w") as f:
    f["run/time"], f["run/p"] = clock, data
put("clock.h5", 12800, each("/run/p", data))
scipy.io.savemat("axes/clock.mat", {"p": data, "time": clock})
put("clock.mat", 12800, each("p", data))
np.savez("axes/clock.npz", p=data, q=data.T, time=clock)
put("clock.npz", 12800, each("p", data) | each("q", data))

R = 2
for name, kind in [("fir.sofa", "FIR"), ("tf.sofa", "TF")]:
    with netCDF4.Dataset("axes/" + name, "w") as f:
        f.setncatts({"Conventions": "SOFA", "Version": "2.1", "SOFAConventions": "SimpleFreeFieldHR" + ("IR" if kind == "FIR" else "TF"),
                     "SOFAConventionsVersion": "1.0", "DataType": kind, "RoomType": "free field"})
        for d, n in {"I": 1, "C": 3, "R": R, "E": 1, "N": N, "M": M, "S": 0}.items():
            f.createDimension(d, n)
        for v, dims in {"SourcePosition": "MC", "ReceiverPosition": "RCI", "EmitterPosition": "ECI"}.items():
            x = f.createVariable(v, "f8", tuple(dims))
            x.setncatts({"Type": "cartesian", "Units": "metre"})
            x[:] = np.arange(x.size).reshape(x.shape)
        if kind == "FIR":
            ir = np.stack([data.T, -data.T], axis=1)
            f.createVariable("Data.IR", "f8", tuple("MRN"))[:] = ir
            x = f.createVariable("Data.SamplingRate", "f8", ("I",))
            x.Units = "hertz"
            x[:] = 48000
            f.createVariable("Data.Delay", "f8", tuple("IR"))[:] = 0
            put(name, 48000, {f"/Data.IR[{m + 1},{r + 1}]": ir[m, r] for m in range(M) for r in range(R)})
        else:
            x = f.createVariable("N", "f8", ("N",))
            x.Units = "hertz"
            x[:] = np.arange(N) * 100
            f.createVariable("Data.Real", "f8", tuple("MRN"))[:] = 1
            f.createVariable("Data.Imag", "f8", tuple("MRN"))[:] = 0
            put(name, 0, {})

with open("axes/truth.json", "w") as f:
    f.write("{" + ",\n".join(json.dumps(k) + ": " + json.dumps(v) for k, v in truth.items()) + "}\n")
    f.write("\n")
