# Writes krig.json: distances by kriging with numpy. The function below restates the
# prototype krig.py.
# usage: /usr/bin/python3 make.py   (in this directory)
import json

import numpy as np


def kv(x, t, jitter):
    """kriging variance at x from values t: covariance -|h|, constant mean.
    krig.py has a jitter of 1e-9, which changes the result by up to twice that."""
    t = np.unique(np.round(t, 9))
    sc = (t.max() - t.min()) or 1.0
    n = len(t)
    A = np.zeros((n + 1, n + 1))
    A[:n, :n] = -np.abs(t[:, None] - t[None]) + jitter * sc * np.eye(n)
    A[:n, n] = A[n, :n] = 1
    B = np.c_[-np.abs(x[:, None] - t[None]), np.ones(len(x))].T
    L = np.linalg.lstsq(A, B, rcond=1e-13)[0]
    return np.maximum(-(L * B).sum(0), 0)


rng = np.random.default_rng(16)
cases = []
for t in ([2, 3, 4, 5], [2, 3, 5], [4.7, 7.3, 9.1, 11.9, 14.1], [0.4, 0.6], list(rng.uniform(-9, 30, 40)), [3.0]):
    t = np.array(t, float)
    R = 1.3 * ((t.max() - t.min()) or 2.0)
    x = np.r_[rng.uniform(t.min() - 0.5 * R, t.max() + 0.5 * R, 25), t[:3]]
    cases.append(dict(values=t.tolist(), range=R, at=x.tolist(), kriging=kv(x / R, t / R, 0.0).tolist(), prototype=kv(x / R, t / R, 1e-9).tolist()))
json.dump(cases, open("krig.json", "w"))
