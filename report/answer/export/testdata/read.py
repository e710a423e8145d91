"""Prints CSV files as an array of {columns: {NAME: {unit, values}},
metadata} in JSON: floats as the hex of their bits (missing: null), integers as
text. Needs numpy; with pandas the CSV are read by pandas too.

Usage: read.py FILE…
"""

import csv
import json
import os
import sys

import numpy as np

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


json.dump([read_csv(p) for p in sys.argv[1:]], sys.stdout)
