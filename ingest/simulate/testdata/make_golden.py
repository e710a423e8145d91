"""Expected values for the tests of package simulate, from the project's Python
reference (sim.py, scipy). Usage: make_golden.py DIRECTORY_OF_SIM_PY > golden.json
"""
import json, sys
import numpy as np
from scipy.signal import butter, welch, lfilter
from scipy.special import jv
sys.path.insert(0, sys.argv[1])
import sim

G = {}
c = lambda z: [[float(v.real), float(v.imag)] for v in np.ravel(z)]

# the rig of sim.py, seed 0: phases of the loading harmonics, imbalance at 6000 rpm
rng = np.random.default_rng(np.random.SeedSequence([0, 2]))
G['phase'] = rng.uniform(0, 2 * np.pi, 60).tolist()
G['imbalance'] = {}
for n in sim.BLADES:
    r = np.random.default_rng(np.random.SeedSequence([0, 3, n]))
    amp = 6e-4 * r.lognormal(0, 0.5, sim.KMAX + 1) * np.maximum(np.arange(sim.KMAX + 1), 1) ** -0.9
    z = amp * np.exp(1j * r.uniform(0, 2 * np.pi, sim.KMAX + 1)); z[0] = 0
    G['imbalance'][str(n)] = c(z)

# rotor_orders, 13 angles x 31 orders
G['orders'] = [dict(blades=n, rpm=rpm, a=[c(row) for row in sim.rotor_orders(n, rpm, 0)])
               for n, rpm in ((2, 2000), (2, 9000), (3, 5500), (5, 7000))]

# band-pass and low-pass of scipy.signal.butter; variance of the response to white noise by its impulse response
G['butter'] = []
for f1, f2, fs in ((183.26, 1832.6, 10240), (824.67, 4096, 10240), (824.67, 8246.7, 51200), (50, 100, 1000)):
    b, a = butter(1, [f1 / (fs / 2), f2 / (fs / 2)], 'band')
    d = np.zeros(200000); d[0] = 1
    G['butter'].append(dict(f1=f1, f2=f2, fs=fs, b=b.tolist(), a=a.tolist(), variance=float((lfilter(b, a, d) ** 2).sum())))
for f, fs in ((80, 10240), (80, 51200)):
    b, a = butter(1, f / (fs / 2))
    d = np.zeros(200000); d[0] = 1
    G['butter'].append(dict(f1=0, f2=f, fs=fs, b=b.tolist(), a=a.tolist(), variance=float((lfilter(b, a, d) ** 2).sum())))

G['bessel'] = [dict(n=n, z=z, j=float(jv(n, z))) for n in (0, 1, 2, 7, 30, 60, 90) for z in (0.01, 0.7, -3.3, 5.4, 25.)]

# airfoil_mean
G['airfoil_mean'] = []
for U in (4.7, 9.1, 14.1):
    for al in (-11, -8, -7.5, -3.5, -.5, 0, .5, 4, 7, 9.5, 11):
        cl, cd, f = sim.airfoil_mean(al, U)
        G['airfoil_mean'].append(dict(alpha=al, u=U, cl=float(cl), cd=float(cd), f=float(f)))

# airfoil_record: population moments of single samples over 24 seeds, mean of the records' variances about the true
# mean with its standard error, and the variance of half means (2500 samples apart nothing is assumed)
G['airfoil_record'] = []
for al, U in ((0., 4.7), (-8., 4.7), (5., 9.1), (11., 14.1)):
    cl, cd, f = sim.airfoil_mean(al, U); q = .5 * sim.RHO * U * U * sim.S_REF
    C = np.stack([sim.airfoil_record(al, U, s) for s in range(24)]) / q - np.array([cl, cd])[:, None]
    v = (C ** 2).mean(-1); x = (C[:, 0] * C[:, 1]).mean(-1)
    h = C[:, :, :5000].mean(-1) - C[:, :, 5000:].mean(-1)
    d = np.diff(C, axis=-1); dv = (d ** 2).mean(-1)
    st = lambda y: [y.mean(0).tolist(), (y.std(0, ddof=1) / len(y) ** .5).tolist()]
    G['airfoil_record'].append(dict(alpha=al, u=U, variance=st(v), cross=st(x), difference=st(dv), half=st(h ** 2)))

# rotor_record, seed 0: band powers in Pa^2 (Welch density, Hann, 1024 points, summed), mean square
G['rotor_record'] = []
edges = [40, 90, 180, 355, 710, 1400, 2800, 5000]
for n, rpm in ((2, 2500), (3, 6000), (5, 9000)):
    p = sim.rotor_record(n, rpm, 0, 8., 10240.).astype(float)
    f, P = welch(p, 10240., 'hann', 1024, 512, detrend=False)
    B = [[float(P[i, (f >= a) & (f < b)].sum() * 10) for a, b in zip(edges, edges[1:])] for i in (0, 4, 6, 11)]
    G['rotor_record'].append(dict(blades=n, rpm=rpm, channels=[0, 4, 6, 11], edges=edges, band=B, square=[float((p[i] ** 2).mean()) for i in (0, 4, 6, 11)]))

# spread of the tones over rigs: mean and standard deviation over 200 seeds of the level in dB re 1 Pa rms, orders 1..12
G['spread'] = []
for n, rpm in ((2, 6000), (3, 5000)):
    L = np.stack([10 * np.log10(np.abs(sim.rotor_orders(n, rpm, s)[:, 1:13]) ** 2 / 2) for s in range(200)])[:, [4, 8, 12]]
    G['spread'].append(dict(blades=n, rpm=rpm, theta=[-20, 20, 60], mean=L.mean(0).tolist(), std=L.std(0, ddof=1).tolist()))
json.dump(G, sys.stdout, indent=None, separators=(',', ':'))
