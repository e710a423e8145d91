# Writes krig.json (distances by kriging with numpy) and fit.json (fits of the
# covariance by scipy's L-BFGS-B on random pairs). The functions below restate
# the prototypes krig.py and pair4.py.
# usage: /usr/bin/python3 make.py   (in this directory)
import json

import numpy as np
from scipy.optimize import minimize


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


def pair_fit(inner, dd, ed, pri, neff=3.0, offset=False):
    S, A, V, Dd, J, W, Ed = [], [], [], [], [], [], []
    for r, d, x in zip(inner, dd, ed):
        n = r["mu"].shape[1]
        s2 = (r["Y1"] + r["Y2"] - 2 * r["mu"]) ** 2 / 2
        a = r["A"] if "A" in r else np.broadcast_to((0.5 * (r["Y1"] - r["Y2"]) ** 2).mean(0), s2.shape)
        S.append(s2.ravel()), A.append(a.ravel()), V.append(r["v"].ravel()), Dd.append(np.repeat(d, n)), Ed.append(np.repeat(x, n))
        J.append(np.tile(np.arange(n), len(d))), W.append(np.full(s2.size, neff / len(d)))
    S, A, V, Dd, J, W, Ed = map(np.concatenate, (S, A, V, Dd, J, W, Ed))
    Ed = Ed.astype(float)
    lv, ld = np.log(V), np.log(Dd)
    av = lambda z: np.average(z, weights=W)
    lv0, ld0, e0 = av(lv), av(ld), av(Ed)
    n = J.max() + 1
    m1, s1, m2, s2_, m3, s3, su = pri
    X = np.stack([lv - lv0, ld - ld0, Ed - e0], 1)
    m, s = np.array([m1, m2, m3]), np.array([s1, s2_, s3])
    free = s > 0

    def full(q):
        p = np.r_[q[0], m, q[1 + free.sum():]]
        p[1:4][free] = q[1:1 + free.sum()]
        return p

    def f(q):
        p = full(q)
        C = np.exp(p[0] + p[4 + J] + X @ p[1:4])
        T = A + 2 * C + (2 * V if offset else 0)
        w = W * 0.5 * (1 / T - S / T ** 2) * 2 * C
        dm = np.where(free, (p[1:4] - m) / np.where(free, s, 1), 0)
        v = (W * 0.5 * (np.log(T) + S / T)).sum() + 0.5 * (dm ** 2).sum() + 0.5 * (p[4:] ** 2).sum() / su ** 2
        g = np.r_[w.sum(), w @ X + dm / np.where(free, s, 1), np.bincount(J, w, n) + p[4:] / su ** 2]
        return v, np.r_[g[0], g[1:4][free], g[4:]]

    c0 = max(np.average((S - A) / 2, weights=W), 1e-4)
    b = [(-15, 5)] + [q for q, k in zip([(-0.2, 1.5), (0, 3), (-1, 5)], free) if k] + [(-3, 3)] * n
    r = minimize(f, np.r_[np.log(c0), m[free], np.zeros(n)], jac=True, method="L-BFGS-B", bounds=b, options=dict(ftol=1e-16, gtol=1e-11, maxiter=5000))
    p = full(r.x)
    F = lambda v, d, x: np.exp(p[0] + p[4:][None] + p[1] * (np.log(v) - lv0) + p[2] * (np.log(d)[:, None] - ld0) + p[3] * (np.asarray(x, float)[:, None] - e0))
    return F, p, r.fun


PRI = {"E": (0, 0, 1, 0, 0, 0, 0.5), "B": (0.25, 0.25, 0.75, 0.5, 0.7, 1.0, 0.5)}

rng = np.random.default_rng(16)
cases = []
for t in ([2, 3, 4, 5], [2, 3, 5], [4.7, 7.3, 9.1, 11.9, 14.1], [0.4, 0.6], list(rng.uniform(-9, 30, 40)), [3.0]):
    t = np.array(t, float)
    R = 1.3 * ((t.max() - t.min()) or 2.0)
    x = np.r_[rng.uniform(t.min() - 0.5 * R, t.max() + 0.5 * R, 25), t[:3]]
    cases.append(dict(values=t.tolist(), range=R, at=x.tolist(), kriging=kv(x / R, t / R, 0.0).tolist(), prototype=kv(x / R, t / R, 1e-9).tolist()))
json.dump(cases, open("krig.json", "w"))

G, n, J = 5, 17, 3
inner, dd, ed = [], [], []
for h in range(G):
    d = rng.uniform(0.2, 1.5, n + h)
    v = rng.uniform(0.01, 0.2, (n + h, J))
    off = rng.normal(size=(n + h, J)) * np.sqrt(0.1 * d[:, None] * np.array([1, 2, 0.5]))
    y = [off + 0.2 * rng.normal(size=off.shape) for _ in range(2)]
    inner.append(dict(mu=np.zeros_like(off), v=v, va=rng.uniform(0.02, 0.06, off.shape), Y1=y[0], Y2=y[1]))
    dd.append(d), ed.append(rng.uniform(size=n + h) < (0.5 if h % 2 else 0.0))
fits = []
q = dict(v=np.array([[0.05, 0.1, 0.02]] * 2), d=np.array([0.7, 2.0]), x=np.array([False, True]))
for name, pri in PRI.items():
    for offset in (False, True):
        for claimed in (False, True):
            use = [dict(r, A=r["va"]) if claimed else r for r in inner]
            F, p, fun = pair_fit(use, dd, ed, pri, 3.0, offset)
            fits.append(dict(variant={"EFalse": "E", "ETrue": "oE", "BFalse": "B", "BTrue": "o"}[name + str(offset)], claimed=claimed,
                             parameters=p.tolist(), value=fun, c=F(q["v"], q["d"], q["x"]).ravel().tolist()))
row = lambda a: np.asarray(a).ravel().tolist()
groups = [dict(n=len(d), mu=row(r["mu"]), claim=row(r["v"]), noise=row(r["va"]), y1=row(r["Y1"]), y2=row(r["Y2"]), distance=row(d), outside=[bool(b) for b in x])
          for r, d, x in zip(inner, dd, ed)]
json.dump(dict(outcomes=J, groups=groups, fits=fits, at=dict(claim=row(q["v"]), distance=row(q["d"]), outside=[False, True])), open("fit.json", "w"))
