"""One-third-octave and overall levels of the two halves of recordings, by scipy.

Nothing of the program's code is used. scipy.signal.welch gives the density of each
half; its running integral, linear over each bin, is read at the edges of the bands.

    band_levels.py SEGMENT_S OVERLAP LO HI < recordings.json > levels.json

recordings.json: {NAME: {"file": WAV or MAT with x, "rate": Hz, "from_s": s, "to_s": s}}.
The reference is the rms of a full-scale sine. Bands have mid-frequencies 10^(k/10) Hz."""

import json
import sys
import warnings

import numpy as np
from scipy.io import loadmat, wavfile
from scipy.signal import welch

segment_s, overlap, lo_hz, hi_hz = (float(a) for a in sys.argv[1:5])
out = {}
for name, r in json.load(sys.stdin).items():
    if r["file"].endswith(".mat"):
        rate, x = r["rate"], np.asarray(loadmat(r["file"])["x"], dtype=float).ravel()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rate, x = wavfile.read(r["file"])
        x = x.astype(float) / (2.0 ** (8 * x.itemsize - 1) if x.dtype.kind == "i" else 1.0)
    if r.get("to_s"):
        x = x[int(round(r["from_s"] * rate)) : int(round(r["to_s"] * rate))]
    n, half = int(np.floor(segment_s * rate + 0.5)), len(x) // 2
    halves = []
    for h in range(2):
        f, p = welch(x[h * half : (h + 1) * half], rate, "hann", n, int(overlap * n), detrend="constant")
        df = f[1]
        edges = np.concatenate(([0.5 * df], f[1:] + 0.5 * df))
        integral = np.concatenate(([0.0], np.cumsum(p[1:]) * df))
        at = lambda hz: np.interp(hz, edges, integral)
        level = lambda lo, hi: float(10 * np.log10((at(hi) - at(lo)) / 0.5))
        bands = [level(10 ** ((k - 0.5) / 10), 10 ** ((k + 0.5) / 10)) for k in range(23, 41)]
        halves.append({"bands": bands, "overall": level(lo_hz, hi_hz)})
    out[name] = halves
json.dump(out, sys.stdout)
