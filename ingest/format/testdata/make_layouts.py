#!/usr/bin/env python3
"""Writes layouts/: files as programs of acousticians write them, and truth.json with
what the writers were given: the channels that are recordings, what is none of them.

    python3 make_layouts.py

acoular.h5 is written by PyTables with the calls of Acoular's WriteH5 (an EArray
time_data with the attribute sample_freq, texts below metadata). benchmark.h5 has the
names of "Array Methods HDF5 File Definitions", revision 2.4. scales.nc is written by
netCDF's library, angles.h5 by h5py.
"""
import json
import os

import h5py
import netCDF4
import numpy as np
import tables

os.chdir(os.path.dirname(os.path.abspath(__file__)))
os.makedirs("layouts", exist_ok=True)
N, M = 64, 8
data = ((np.arange(N * M) * 7919 % 251 - 125) / 8).reshape(N, M)
theta = np.arange(-35.0, 40, 10)
truth = {}


def put(name, rate, recorded, conditions):
    truth[name] = {
        "rate": rate,
        "recorded": {k: {"unit": u, "data": [float(x) for x in v]} for k, (u, v) in recorded.items()},
        "conditions": {k: [float(x) for x in v] for k, v in conditions.items()},
    }


def each(name, unit, columns):
    return {f"{name}[{i + 1}]": (unit, columns[:, i]) for i in range(columns.shape[1])}


with tables.open_file("layouts/acoular.h5", "w") as f:
    array = f.create_earray("/", "time_data", atom=tables.Float32Atom(), shape=(0, M), chunkshape=(16, M))
    array.set_attr("sample_freq", 25600.0)
    group = f.create_group("/", "metadata")
    f.create_array(group, "fan", np.array("low", dtype="S"))
    for block in np.split(data.astype("f4"), 4):
        array.append(block)
put("acoular.h5", 25600, each("/time_data", "", data), {})

with h5py.File("layouts/benchmark.h5", "w", libver="earliest", track_order=False) as f:
    p = f.create_dataset("MicrophoneData/microphoneDataPa", data=data)
    p.attrs["sampleRateHz"] = np.array([51200.0])
    v = f.create_dataset("TachoData/tachoDataV", data=data[:, :1])
    v.attrs["sampleRateHz"] = np.array([51200.0])
    f.create_dataset("MetaData/dataLayout", data=np.arange(1, 25).reshape((2, 3, 4), order="F").astype("i4"))
    f.create_dataset("MetaData/ArrayAttributes/microphonePositionsM", data=data[:M, :3])
    f["MetaData/ArrayAttributes"].attrs["microphoneCount"] = np.int32(M)
    f.create_dataset("MeasurementData/machNumber", data=np.array([[0.1, 0, 0]]))
    f.create_dataset("MeasurementData/staticTemperatureK", data=np.array([293.0]))
    f.create_dataset("CsmBuild/csmReal", data=np.zeros((M, M, 5)))
    f.create_dataset("CsmBuild/csmImaginary", data=np.zeros((M, M, 5)))
    f.create_dataset("CsmBuild/binCenterFrequenciesHz", data=np.arange(5.0)[None])
put("benchmark.h5", 51200,
    each("/MicrophoneData/microphoneDataPa", "Pa", data) | {"/TachoData/tachoDataV": ("V", data[:, 0])}, {})

with netCDF4.Dataset("layouts/scales.nc", "w") as f:
    f.createDimension("time", N)
    f.createDimension("mic", M)
    f.createDimension("frequency", 5)
    f.createDimension("sweep", 2)
    t = f.createVariable("time", "f8", ("time",))
    t.units = "s"
    t[:] = np.arange(N) / 12800
    f.createVariable("mic", "i4", ("mic",))[:] = np.arange(M)
    f.createVariable("frequency", "f8", ("frequency",))[:] = np.arange(5.0)
    x = f.createVariable("pressure", "f4", ("time", "mic"))
    x.units = "Pa"
    x[:] = data
    a = f.createVariable("mic_theta", "f8", ("mic",))
    a.units = "deg"
    a[:] = theta
put("scales.nc", 12800, each("/pressure", "Pa", data), {"/mic_theta": theta})

with h5py.File("layouts/angles.h5", "w", libver="earliest") as f:
    p = f.create_dataset("p", data=data)
    p.attrs["unit"], p.attrs["fs"] = "Pa", 12800.0
    a = f.create_dataset("mic_theta", data=theta)
    a.attrs["unit"] = "deg"
    f.create_dataset("serial", data=np.arange(4000, 4000 + M))
put("angles.h5", 12800, each("/p", "Pa", data), {"/mic_theta": theta, "/serial": np.arange(4000, 4000 + M)})

with open("layouts/truth.json", "w") as f:
    json.dump(truth, f, indent=0)
    f.write("\n")
