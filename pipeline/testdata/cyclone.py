"""Half-means of the loads of the Cyclone campaign by numpy, and how far they differ
in naive standard errors. Arguments: folder of the data. Prints JSON by run."""
import csv
import json
import sys

import numpy as np

C = np.array([[0.10573, -0.04946, -0.03339, 6.31374, -0.04072, -6.35659], [0.24983, -7.21789, 0.12016, 3.62807, -0.08762, 3.70953],
              [10.12504, 0.21548, 10.10169, 0.36926, 10.57529, 0.28278], [-0.00249, -0.03763, 0.14501, 0.02394, -0.15264, 0.01486],
              [-0.17046, -0.00215, 0.08486, -0.03049, 0.08772, 0.03596], [0.00226, -0.08472, -0.00019, -0.08519, 0.00105, -0.08698]])
folder = sys.argv[1]


def basis(a):
    return np.column_stack([np.ones_like(a), np.cos(a), np.sin(a)])


polar = np.loadtxt(f"{folder}/17_11_17__14_21.txt")
fit = np.linalg.lstsq(basis(polar[:, 12]), polar[:, 1:7] @ C.T, rcond=None)[0]
rng = np.random.default_rng(1)
out, files = {}, {}
with open(f"{folder}/conditions.csv") as f:
    for r in csv.DictReader(f):
        if "15_31" in r["file"]:
            continue
        if r["file"] not in files:
            files[r["file"]] = np.loadtxt(f"{folder}/{r['file']}")
        i, j = int(r["row0"]), int(r["row1"])
        d = files[r["file"]][i:j]
        loads = d[:, 1:7] @ C.T - basis(d[:, 12]) @ fit
        h = len(d) // 2
        one, two = loads[:h], loads[h:2 * h]
        x = loads[:, 0]
        p = rng.permutation(len(x))
        se = x.std() * np.sqrt(4 / len(x))
        out[f"data/{r['file']}[{i}:{j}]"] = {
            "first": one.mean(0).tolist(), "second": two.mean(0).tolist(),
            "naive": (two[:, 0].mean() - one[:, 0].mean()) / se,
            "random": (x[p[:h]].mean() - x[p[h:2 * h]].mean()) / se,
        }
json.dump(out, sys.stdout)
