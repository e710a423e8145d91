"""Prints CSV, NPZ and MAT files as an array of {columns: {NAME: {unit, values}},
metadata} in JSON: floats as the hex of their bits (missing: null), integers as
text. Needs numpy and scipy; with pandas the CSV are read by pandas too.

Usage: read.py FILE…
"""

import csv
import json
import os
import sys

import numpy as np
from scipy.io import loadmat

try:
    import pandas
except ImportError:
    pandas = None


def cell(x):
    if isinstance(x, (str, np.str_)):
        return str(x)
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    if isinstance(x, np.ndarray):
        return [cell(v) for v in x.ravel()]
    if np.isnan(x):
        return None
    return x.tobytes()[::-1].hex()  # of a little-endian machine


def read_csv(path):
    with open(path[:-4] + ".csv-metadata.json", encoding="utf-8") as f:
        meta = json.load(f)
    if meta["url"] != os.path.basename(path):
        raise ValueError("metadata of " + meta["url"])
    kinds = {
        "string": str,
        "long": int,
        "boolean": lambda s: {"true": True, "false": False}[s],
        "double": lambda s: np.float64(s or "nan"),
        "float": lambda s: np.array(s.split(), dtype=np.float32),
    }
    with open(path, encoding="utf-8", newline="") as f:
        names, *rows = csv.reader(f)
    columns = {}
    for i, c in enumerate(meta["tableSchema"]["columns"]):
        if c["titles"] != names[i]:
            raise ValueError("column " + names[i])
        values = [kinds[c["datatype"]](r[i]) for r in rows]
        if pandas is not None and c["datatype"] == "double":
            got = pandas.read_csv(path, float_precision="round_trip")[names[i]].to_numpy()
            np.testing.assert_array_equal(got, np.array(values))
        columns[names[i]] = {"unit": c.get("schema:unitText", ""), "values": [cell(v) for v in values]}
    return {"columns": columns, "metadata": {n["key"]: n["value"] for n in meta["notes"]}}


def read_npz(path):
    with np.load(path, allow_pickle=False) as z:
        meta = json.loads(z["metadata.json"])
        columns = {}
        for c in meta["columns"]:
            v = z[c["name"]]
            if c["name"] + "_offsets" in z:
                at = z[c["name"] + "_offsets"]
                v = [v[a:b] for a, b in zip(at, at[1:])]
            columns[c["name"]] = {"unit": c.get("unit", ""), "values": [cell(x) for x in v]}
    return {"columns": columns, "metadata": meta["metadata"]}


def text(v):
    """The texts of a cell of char."""
    return [str(x[0]) if x.size else "" for x in v[:, 0]] if v.size else []


def read_mat(path):
    m = loadmat(path)
    about = m["columns"][0, 0]
    columns = {}
    for variable, name, unit in zip(text(about["variable"]), text(about["name"]), text(about["unit"])):
        v = m[variable]
        if v.dtype == object:
            kind = [x[0] if x.size and x.dtype.kind == "U" else "" if x.dtype.kind == "U" else x for x in v[:, 0]]
        elif v.shape[1] == 1:
            kind = v[:, 0]
        else:
            kind = list(v)
        if v.dtype == np.uint8:  # loadmat forgets that it is logical
            kind = kind.astype(bool)
        columns[name] = {"unit": unit, "values": [cell(x) for x in kind]}
    about = m["metadata"][0, 0]
    return {"columns": columns, "metadata": dict(zip(text(about["key"]), text(about["value"])))}


read = {".csv": read_csv, ".npz": read_npz, ".mat": read_mat}
json.dump([read[os.path.splitext(p)[1]](p) for p in sys.argv[1:]], sys.stdout)
