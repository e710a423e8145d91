"""Levels of the blade passing harmonics of mono WAV files, by scipy.

The definition is that of docs/method.md#split-half-spectra; nothing of the
program's code is used, scipy does the spectra.

    rotor_levels.py FOLDER [TOLERANCE] < speeds.json > levels.json

FOLDER holds NAME.wav. speeds.json gives, per NAME, the shaft speed in rev/s of the
first and the second half: {"40000": [327.5, 324.0], ...}. The levels are measured
at those speeds, because the edges of search and floor depend on them in the last
digit. "own_hz" is this script's own estimate of the speed, from the
largest line between 600 and 900 Hz (there is no other shaft order) in windows of 100 ms.
"""
import json
import os
import sys
import warnings

import numpy as np
from scipy.io import wavfile
from scipy.signal import get_window, welch

BLADES, HARMONICS, SEGMENTS = 2, 5, 8
TOLERANCE, MIN_BINS = float((sys.argv[2:] or [0.03])[0]), 2
EMERGENCE = 10 ** 0.6          # 6 dB
REFERENCE = 0.5                # mean square of a full-scale sine: it reads 0 dBFS


def bins_within(f, d, df, last):
    """First and last bin within +-d of f; the nearest one if there is none; never 0 Hz."""
    lo, hi = int(np.ceil((f - d) / df)), int(np.floor((f + d) / df))
    if lo > hi:
        lo = hi = int(np.rint(f / df))
    return min(max(lo, 1), last), max(min(hi, last), 1)


def floor(p, f, shaft, df):
    """Median within +-0.25 BPF of f, without +-4 bins around every shaft order."""
    bpf = BLADES * shaft
    k = np.arange(max(1, int(np.ceil((f - 0.25 * bpf) / df))), min(len(p) - 1, int(np.floor((f + 0.25 * bpf) / df))) + 1)
    order = np.maximum(1, np.rint(k * df / shaft))
    k = k[np.abs(k * df - order * shaft) > 4 * df]
    assert len(k) >= 8, 'shaft orders too dense for the plain rule'
    return np.median(p[k])


def line(p, f, shaft, df, tone):
    """Mean square of the line expected at f (amplitude: band), rho, bound, largest bin in Hz."""
    last = len(p) - 1
    lo, hi = bins_within(f, min(max(TOLERANCE * f, MIN_BINS * df), shaft / 2), df, last)
    peak = lo + int(np.argmax(p[lo:hi + 1]))
    nu = floor(p, f, shaft, df)
    rho = p[peak] / nu
    end = bins_within(f, shaft / 2, df, last)      # midway to the neighbouring shaft orders
    a, b = peak, peak
    while a - 1 >= min(end[0], lo) and p[a - 1] > 2 * nu:
        a -= 1
    while b + 1 <= max(end[1], hi) and p[b + 1] > 2 * nu:
        b += 1
    band = p[a:b + 1]
    bound = bool(rho < EMERGENCE)
    power = max(p[peak], tone * band.sum()) if bound else tone * np.maximum(band - nu, 0).sum()
    return power, rho, bound, peak * df


def own_speed(x, rate):
    n = rate // 10
    f = np.arange(32769) * rate / 65536
    inside = (f >= 600) & (f <= 900)
    peaks = [f[inside][np.argmax(np.abs(np.fft.rfft(x[i:i + n] * np.hanning(n), 65536))[inside])] for i in range(0, len(x) - n + 1, n)]
    return float(np.mean(peaks) / BLADES)


def analyse(path, speeds):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')            # scipy remarks on the PEAK chunk
        rate, x = wavfile.read(path)
    x = x.astype(np.float64)
    half = len(x) // 2
    n = half // SEGMENTS
    w = get_window('hann', n)                      # periodic
    tone = w.sum() ** 2 / (n * (w ** 2).sum())
    df = rate / n
    out = {'shaft_hz': speeds, 'own_hz': [], 'level_dbfs': [], 'rho_db': [], 'bound': [], 'peak_hz': []}
    for h, shaft in enumerate(speeds):
        seg = x[h * half:h * half + SEGMENTS * n]
        _, p = welch(seg, rate, window='hann', nperseg=n, noverlap=0, detrend='constant', scaling='spectrum')
        lines = [line(p, m * BLADES * shaft, shaft, df, tone) for m in range(1, HARMONICS + 1)]
        out['own_hz'].append(own_speed(x[h * half:(h + 1) * half], rate))
        out['level_dbfs'].append([float(10 * np.log10(l[0] / REFERENCE)) for l in lines])
        out['rho_db'].append([float(10 * np.log10(l[1])) for l in lines])
        out['bound'].append([l[2] for l in lines])
        out['peak_hz'].append([float(l[3]) for l in lines])
    return out


speeds = json.load(sys.stdin)
json.dump({name: analyse(os.path.join(sys.argv[1], name + '.wav'), s) for name, s in sorted(speeds.items())}, sys.stdout, indent=1)
print()
