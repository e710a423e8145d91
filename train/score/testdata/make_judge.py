# Writes judge.json: scores of one prediction of the set in score.json, from
# scipy's distributions and numerical integration, independently of the Go
# code.  usage: /usr/bin/python3 make_judge.py > judge.json   (next to score.json)
import json
import os

import numpy as np
from scipy import integrate, stats

s = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "score.json")))
key = {k.lower().replace("_", ""): v for k, v in s.items()}
n, d = key["n"], key["out"]
y1, y2, mu = (np.array(key[k]).reshape(n, d) for k in ("y1", "y2", "mu"))
cond, run = np.array(key["condition"]), np.array(key["run"])
rng = np.random.default_rng(7)
v = rng.gamma(2.0, 0.08, (n, d)) - 0.03                  # some not positive
total = np.maximum(v, 0) + rng.uniform(0.05, 0.2, (n, d))
sd = np.sqrt(total)
y = np.stack([y1, y2])
dist = stats.norm(mu, sd)
e = (y1 - mu) * (y2 - mu)


def crps(z):                                             # the definition: integral of (F - 1{x >= z})^2
    f = stats.norm.cdf
    return integrate.quad(lambda x: f(x) ** 2, -40, z)[0] + integrate.quad(lambda x: (1 - f(x)) ** 2, z, 40)[0]


def ence(res2):                                          # res2: (2, n, d)
    order = np.argsort(total.ravel(), kind="stable")
    bins = [order[len(order) * b // 10:len(order) * (b + 1) // 10] for b in range(10)]
    rmv = np.array([np.sqrt(total.ravel()[b].mean()) for b in bins])
    rmse = np.array([np.sqrt(res2.reshape(2, -1)[:, b].mean()) for b in bins])
    return np.mean(np.abs(rmse - rmv) / rmv)


ids, inv = np.unique(cond, return_inverse=True)
ve = np.clip(v, 0, total)
sims = []
for _ in range(4000):
    err = rng.normal(size=(len(ids), d))[inv] * np.sqrt(ve)
    sims.append(ence((err + rng.normal(size=(2, n, d)) * np.sqrt(total - ve)) ** 2))


def clustered(num, den):
    g = np.repeat(run, d)
    beta = num.sum() / den.sum()
    u = np.array([(num - beta * den)[g == k].sum() for k in np.unique(g)])
    return beta, np.sqrt(len(u) / (len(u) - 1) * (u ** 2).sum()) / abs(den.sum())


ratio, ratio_se = clustered(e.ravel(), v.ravel())
square, square_se = clustered((v ** 2 - 2 * v * e).ravel(), np.ones(n * d))
floor = 1e-4 * np.concatenate([y1, y2]).var(0)
vf = np.maximum(v, floor)
z = (y - mu) / sd
lo, hi = dist.interval(0.95)
want = dict(
    nll=-dist.logpdf(y).mean(), crps=np.mean([[crps(a) for a in row] for row in z.reshape(-1, d)] * np.tile(sd, (2, 1))),
    coverage68=(np.abs(z) <= 1).mean(), coverage95=((y >= lo) & (y <= hi)).mean(), width95=(hi - lo).mean(), ence=ence((y - mu) ** 2),
    ence_ref=np.mean(sims), ence_ref_sd=np.std(sims), ence_ref95=np.quantile(sims, 0.95),
    e=e.mean(), sum_e_ratio=ratio, sum_e_ratio_se=ratio_se, square=square, square_se=square_se,
    qlike=(np.log(vf) + e / vf).mean(), floored=(v < floor).mean(), nonpositive=(v <= 0).mean(), chebyshev95=np.sqrt(v[v > 0] / 0.05).mean())
levels = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
json.dump(dict(v=v.ravel().tolist(), total=total.ravel().tolist(), want=want, levels=levels,
               observed=[(dist.cdf(y) < a).mean() for a in levels],
               crps=[[a, crps(a)] for a in (-3.0, -0.7, 0.0, 0.4, 1.9, 6.0)]), __import__("sys").stdout)
