"""linear.json: least squares by numpy.linalg.lstsq on pairs of a simulated campaign.

python3 make_linear.py > linear.json"""

import json

import numpy as np

rng = np.random.default_rng(5)
rows = []
for group, blades in enumerate([2, 3, 4, 5, 6]):
    for speed in [20.0, 35.0, 50.0, 70.0]:
        for angle in [-8.0, -1.0, 4.0, 9.0]:
            for _ in range(rng.integers(1, 4)):  # repeats
                rows.append([group, blades, speed, angle])
rows = np.array(rows)
x = rows[:, 1:]
log_blades, log_speed, angle = np.log(x[:, 0]), np.log(x[:, 1]), x[:, 2]
truth = np.stack([3 * log_speed + 0.2 * angle + 0.5 * log_speed * angle - log_blades,
                  1e4 + 50 * log_speed + 20 * log_blades - 3 * angle + 10 * log_speed * angle], axis=1)
truth += ([0.1, 2.0] * rng.standard_normal((5, 2)))[rows[:, 0].astype(int)]  # groups deviate
pairs = [truth + [0.05, 1.0] * rng.standard_normal(truth.shape) for _ in range(2)]


def design(x):
    """Inputs or logarithms, and the product that the truth has."""
    b, s, a = np.log(x[:, 0]), np.log(x[:, 1]), x[:, 2]
    return np.stack([np.ones(len(x)), b, s, a, s * a], axis=1)


def fit(use):
    """Every measurement is a row."""
    a, y = design(x[use]), np.concatenate([p[use] for p in pairs])
    return np.linalg.lstsq(np.concatenate([a, a]), y, rcond=None)[0]


group = rows[:, 0]
e = []  # mean product of the pairs' deviations from predictions without the group
for g in np.unique(group):
    mu = design(x[group == g]) @ fit(group != g)
    e.append(np.mean((pairs[0][group == g] - mu) * (pairs[1][group == g] - mu), axis=0))
noise = np.mean((pairs[0] - pairs[1])**2 / 2, axis=0)
at = np.array([[7, 90, 12], [3, 60, 0.5], [2, 20, -8.0]])
print(json.dumps({
    "groups": [int(g) for g in group], "x": x.ravel().tolist(),
    "y1": pairs[0].ravel().tolist(), "y2": pairs[1].ravel().tolist(),
    "at": at.ravel().tolist(), "mean": (design(at) @ fit(group >= 0)).ravel().tolist(),
    "epistemic": np.mean(e, axis=0).tolist(), "noise": noise.tolist()}))
