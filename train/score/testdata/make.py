# Writes score.json: one random set and its numbers, computed with numpy and
# scipy from the formulas of docs/method.md, independently of the Go
# code (matrix forms instead of loops).  usage: /usr/bin/python3 make.py > score.json
import json

import numpy as np
from scipy.special import polygamma

rng = np.random.default_rng(20251120)
conditions, runs_per, channels, d = 12, 2, 3, 3
rows = []
for c in range(conditions):
    for r in range(runs_per if c % 3 else 1):          # unequal numbers of rows a condition
        for _ in range(channels):
            rows.append((c, 100 + 7 * c + r))
cond, run = np.array(rows).T
n = len(rows)
ids, inv = np.unique(cond, return_inverse=True)
true = rng.normal(size=(conditions, d))
dev = {g: rng.normal(size=d) * 0.2 for g in np.unique(run)}
base = true[inv] + np.array([dev[g] for g in run])
y1, y2 = (base + rng.normal(size=(n, d)) * 0.3 for _ in range(2))
mu = (true + rng.normal(size=(conditions, d)) * 0.4)[inv]
var, raw, cov, delta, zig = (a[inv] for a in (
    rng.uniform(0.05, 0.4, (conditions, d)), rng.normal(0.1, 0.1, (conditions, d)), rng.normal(0.16, 0.12, (conditions, d)),
    rng.normal(0, 0.1, (conditions, d)), rng.uniform(0, 0.2, (conditions, d))))
std = np.array([2.0, 0.5, 30.0])
kappa = np.random.default_rng(6).normal(0, 0.1, (conditions, d))[inv]


def per_condition(a):                                   # one row a condition: all rows of it are equal
    return np.array([a[cond == i][0] for i in ids])


def sandwich(num, den, groups):                         # ratio through the least-squares fit num = ratio * den / den
    beta = num.sum() / den.sum()
    u = num - beta * den
    onehot = (groups[:, None] == np.unique(groups)[None]).astype(float)
    g = onehot.shape[1]
    return beta, np.sqrt(g / (g - 1) * ((u @ onehot) ** 2).sum()) / abs(den.sum())


def numbers(cols):
    y = np.concatenate([y1, y2])[:, cols]
    m = np.concatenate([mu, mu])[:, cols]
    v = y.var(0)
    e = ((y1 - mu) * (y2 - mu))[:, cols]
    c = cov[:, cols]
    groups = np.repeat(run, len(cols))
    emean, ese = sandwich(e.ravel(), np.ones(e.size), groups)
    ratio, rse = sandwich(e.ravel(), c.ravel(), groups)
    pc = {k: per_condition(a[:, cols]) for k, a in dict(kappa=kappa, raw=raw, cov=cov, delta=delta, zig=zig, mu=mu, var=var).items()}
    return dict(
        r2=(1 - ((y - m) ** 2).mean(0) / v).mean(),
        noise_ceiling=(1 - (np.var([y1[:, cols], y2[:, cols]], axis=0, ddof=1)).mean(0) / v).mean(),
        pair_mse=((y - m) ** 2).mean(),
        abs_cov=np.abs(pc["raw"]).mean(), abs_cov_centred=np.abs(pc["cov"]).mean(), cov_centred=pc["cov"].mean(),
        delta=np.abs(pc["delta"]).mean(), mu_delta=np.abs(pc["mu"] * pc["delta"]).mean(), zigzag=pc["zig"].mean(),
        kappa=np.abs(pc["kappa"]).mean() / pc["var"].mean(),
        negative_cov=(pc["cov"] <= 0).mean(), cov_above_var=(pc["cov"] > pc["var"]).mean(),
        e=emean, e_se=ese, sum_e_ratio=ratio, sum_e_ratio_se=rse)


f = lambda a: np.asarray(a).ravel().tolist()
json.dump(dict(
    n=n, out=d, y1=f(y1), y2=f(y2), mu=f(mu), var=f(var), cov_raw=f(raw), cov=f(cov), delta=f(delta), kappa=f(kappa), zigzag=f(zig),
    condition=f(cond), run=f(run), out_std=f(std), conditions=len(ids), runs=len(np.unique(run)),
    all=numbers([0, 1, 2]), outcomes=[numbers([j]) for j in range(d)],
    r2_factor={str(k): float(np.exp(1.959964 * np.sqrt(polygamma(1, k / 2) + polygamma(1, (k - 1) / 2)))) for k in range(2, 13)},
), __import__("sys").stdout)
print()
