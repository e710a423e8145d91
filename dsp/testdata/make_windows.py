"""Writes windows.json: spectra of scipy.signal.welch under four windows with overlap, the windows
themselves, and one-third-octave levels integrated from the narrow-band spectrum.

usage: /usr/bin/python3 make_windows.py   (scipy 1.10)"""

import json
import pathlib

import numpy as np
from scipy import signal

rate = 8000.0
rng = np.random.default_rng(19)
t = np.arange(6000) / rate
x = rng.normal(size=t.size) + 0.5 * np.sin(2 * np.pi * 1012.5 * t) + 0.3
x = np.round(x, 6)
out = {"rate": rate, "x": x.tolist(), "windows": {}, "cases": []}
for name in ("hann", "hamming", "blackman", "flattop"):
    w = signal.get_window(name, 30)
    out["windows"][name] = {"w": w.tolist(), "noise_bins": float(w.size * (w**2).sum() / w.sum() ** 2)}
    for n, overlap in ((240, 0.0), (240, 0.5), (250, 0.75), (300, 0.3)):
        halves = []
        for half in (x[:3000], x[3000:]):
            f, p = signal.welch(half, rate, name, n, int(overlap * n), detrend="constant", scaling="spectrum")
            halves.append(p.tolist())
        out["cases"].append({"window": name, "segment": n, "overlap": overlap, "halves": halves})

# Bands: the density, constant within half a bin of each frequency, integrated from edge to edge by
# its running integral.
n = 250
f, p = signal.welch(x[:3000], rate, "hann", n, n // 2, detrend="constant", scaling="density")
df = f[1]
edges = np.concatenate(([0.5 * df], f[1:] + 0.5 * df))
running = np.concatenate(([0.0], np.cumsum(p[1:]) * df))


def between(lo, hi):
    return float(np.interp(hi, edges, running) - np.interp(lo, edges, running))


bands = {}
for per in (1, 3, 6, 12):
    rows = []
    for k in range(-12 * per, 8 * per):
        mid = 1000 * 10 ** (0.3 * (k / per if per % 2 else (2 * k + 1) / (2 * per)))
        lo, hi = mid * 10 ** (-0.15 / per), mid * 10 ** (0.15 / per)
        if lo >= 0.5 * df and hi <= f[-1] + 0.5 * df and hi - lo >= 2 * df:
            rows.append([mid, lo, hi, between(lo, hi)])
    bands[str(per)] = rows
out["bands"] = bands
pathlib.Path(__file__).with_name("windows.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")
