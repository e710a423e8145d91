"""Writes tunnel/: acquisitions of a wind tunnel as in docs/method.md (group
Table1, its first dataset the time, the sampling period an attribute of each
dataset, conditions in the file name), simulated, and in tunnel/truth.json what
they were made from. Run: python3 make_tunnel.py (in this folder)."""
import json
import os

import h5py
import numpy as np

RATE, N = 12800.0, 16000
BLADES = 2
t = np.arange(N) / RATE
truth = {}
os.makedirs("tunnel", exist_ok=True)
for u in (10, 20):
    for alpha in (0, 4, 8, 12):
        rng = np.random.default_rng([20261121, u, alpha])
        # The shaft: angle rev0 t + slope t^2 / 2, in revolutions.
        rev0, slope = 200.0 + u - 0.5 * alpha, 2.0
        rev = rev0 * t + slope * t * t / 2
        # Amplitudes in Pa of the first three harmonics of the blade passing frequency.
        amplitude = [0.4 * (1 + 0.03 * alpha) * u / 10, 0.1 * (1 + 0.1 * alpha), 0.05 * u / 10]
        p = sum(a * np.cos(2 * np.pi * BLADES * m * rev + m) for m, a in enumerate(amplitude, 1))
        p = p + 0.004 * rng.standard_normal(N)
        step = 2.0 ** -9  # Pa: the converter's
        # A pulse with a rise that several samples see: the edges of a square one
        # would be known to a sample only, which costs the sixth order 0.1 dB.
        tacho = np.round(5 / (1 + np.exp(-12 * np.sin(2 * np.pi * rev))) / step) * step
        with h5py.File(f"tunnel/tunnel_U{u}_a{alpha}.h5", "w") as f:
            f.attrs["origin"] = "simulated"
            g = f.create_group("Table1")
            for name, x, unit in [("Ds01-Time", t, "s"), ("Ds02-TACHO", tacho.astype("f4"), "V"), ("Ds03-MIC", (np.round(p / step) * step).astype("f4"), "Pa")]:
                d = g.create_dataset(name, data=x, chunks=(4000,), compression="gzip", compression_opts=9, shuffle=True)
                d.attrs["ChannelInformationSamplingPeriod"] = 1 / RATE
                d.attrs["unit"] = unit
        truth[f"tunnel_U{u}_a{alpha}.h5"] = {
            "u_inf_m_s": u, "alpha_deg": alpha, "amplitude_pa": amplitude,
            # Mean over the first and over the second half, and over both.
            "rpm": [60 * (rev0 + slope * N / RATE * f) for f in (0.25, 0.75, 0.5)],
        }
with open("tunnel/truth.json", "w") as f:
    json.dump(truth, f, indent=1)
    f.write("\n")
