"""Writes sklearn-gp.csv: what scikit-learn's Gaussian process predicts of each propeller of pairs.csv without it, for
`pipeline judge sklearn-gp.csv --against pairs.csv --groups propeller`.

    python3 sklearn_gp.py        # Debian's python3-sklearn 1.2.1; a minute

The process has a length for each of blades, pitch and speed, and a noise. It is trained on the means of pairs, so the
noise of one measurement is twice the variance that it finds.
"""
import csv

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

with open("pairs.csv", newline="") as f:
    rows = list(csv.DictReader(f))
column = {k: np.array([float(r[k]) for r in rows]) for k in rows[0] if k != "run"}
x = np.stack([column[k] for k in ("blades", "pitch_in", "rpm")], axis=1)
x = (x - x.mean(axis=0)) / x.std(axis=0)
y = (column["kt_1"] + column["kt_2"]) / 2

kt, epistemic, noise = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
for p in np.unique(column["propeller"]):
    out = column["propeller"] == p
    kernel = ConstantKernel() * RBF([1.0, 1.0, 1.0]) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(x[~out], y[~out])
    kt[out], sd = process.predict(x[out], return_std=True)
    white = process.kernel_.k2.noise_level * y[~out].var()
    epistemic[out] = np.sqrt(np.maximum(sd**2 - white, 0))
    noise[out] = np.sqrt(2 * white)
    print(p, process.kernel_)

with open("sklearn-gp.csv", "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(["run", "propeller", "blades", "pitch_in", "rpm", "kt", "kt_sd_epistemic", "kt_sd_noise"])
    for r, *v in zip(rows, kt, epistemic, noise):
        w.writerow([r["run"], r["propeller"], r["blades"], r["pitch_in"], r["rpm"], *("%.6f" % a for a in v)])
