"""Writes paired.json: paired comparisons by scipy.stats, for TestRankingAgainstScipy.

One seed, every row a run of its own: scipy.stats.ttest_rel. Several seeds, runs of
several rows: the variance of the mean over seeds, clustered by run, plus that of the
seeds' means over their number, with Welch's and Satterthwaite's degrees of freedom,
by numpy; p by scipy.stats.t. Holm's correction is written as its definition.
"""

import json

import numpy as np
from scipy import stats

rng = np.random.default_rng(3)


def holm(p):
    out = [0.0] * len(p)
    for i in range(len(p)):
        # the smallest level at which the step-down procedure rejects hypothesis i
        out[i] = max(min(1.0, sum(q >= r for q in p) * r) for r in p if r <= p[i])
    return out


rows = 40
methods = [rng.gamma(2, 1, rows) for _ in range(4)]
methods = [m + 0.3 * k for k, m in enumerate(methods)]
methods.sort(key=np.mean)
p = [stats.ttest_rel(m, methods[0]).pvalue for m in methods[1:]]
plain = {"scores": [m.tolist() for m in methods], "p": p, "holm": holm(p),
         "above": [float(np.mean(m - methods[0])) for m in methods[1:]],
         "se": [float(stats.sem(m - methods[0])) for m in methods[1:]]}

run = np.repeat(np.arange(8), [1, 9, 5, 5, 2, 8, 6, 4])
seeds = 5
base = rng.gamma(2, 1, rows)
shift = rng.normal(0, 0.3, 8)
multi = [[(base + rng.normal(0, 0.2, rows)).tolist() for _ in range(seeds)],
         [(base + 0.5 + shift[run] + rng.normal(0, 0.1) + rng.normal(0, 0.2, rows)).tolist() for _ in range(seeds)]]
d = np.array(multi[1]) - np.array(multi[0])
mean = d.mean()
rest = d.mean(0) - mean
sums = np.array([rest[run == g].sum() for g in range(8)])
a = 8 / 7 * np.sum(sums**2) / rows**2
b = d.mean(1).var(ddof=1) / seeds
nu = (a + b) ** 2 / (a**2 / 7 + b**2 / (seeds - 1))
clustered = {"scores": multi, "run": run.tolist(), "above": mean, "se": np.sqrt(a + b),
             "p": 2 * stats.t.sf(abs(mean) / np.sqrt(a + b), nu)}
json.dump({"plain": plain, "clustered": clustered}, open("paired.json", "w"))
