#!/usr/bin/env python3
"""The scales of left-out units by numpy, from docs/honest.md ("Conditions that are no new group") and docs/method.md.

    units.py < FILE      (numpy)

FILE is {"model": honest.json, "x": rows x inputs, "y1": ..., "y2": ...} of a process of one outcome without labels. For
each set of factors of the model the units are found anew from x, each is predicted by a process that is conditioned on
the other rows alone (no block of an inverse). The number of units and λ are printed, a JSON list of pairs in the order
of the model's.
"""
import json
import sys

import numpy as np

job = json.load(sys.stdin)
model = job['model']
process = model['model']
hyper = process['hyperparameters'][0]
x, y1, y2 = (np.array(job[k]) for k in ('x', 'y1', 'y2'))
names = [i['name'] for i in model['inputs']]


def matern(difference, lengths):
    q = 5 * ((difference / lengths) ** 2).sum(-1)
    r = np.sqrt(q)
    return (1 + r + q / 3) * np.exp(-r)


def kernel(a, b):
    d = a[:, None, :] - b[None, :, :]
    k = hyper['constant'] ** 2 + (a * np.array(hyper['linear']) ** 2) @ b.T
    k += hyper['amplitude'] ** 2 * matern(d, np.array(hyper['length']))
    if hyper['shared']:
        k += hyper['shared'] ** 2 * matern(d[:, :, process['others']], np.array(hyper['lengths']))
    return k


def noise(z):
    """The variance of one measurement: ln is quadratic in the inputs, within its range."""
    c, values = process['noise'][0], []
    for row in z:
        terms = [1, *row, *(a * b for i, a in enumerate(row) for b in row[i:])]
        values.append(np.clip(np.exp(np.dot(terms, c['coefficients'])), c['min'], c['max']))
    return np.array(values)


seen = x.copy()
for k, logarithm in enumerate(model['logarithm']):
    if logarithm:
        seen[:, k] = np.log(seen[:, k])
z = (seen[:, process['columns']] - process['input_mean']) / process['input_std']
mean, unit = process['outcome_mean'][0], process['outcome_std'][0]
s1, s2 = (y1 - mean) / unit, (y2 - mean) / unit
nugget = hyper['nugget'] ** 2

answer = []
for scale in model['calibration']['left_out_units']:
    columns = [names.index(f) for f in scale.get('factors', [])] or list(range(x.shape[1]))
    ratios = []
    for value in np.unique(x[:, columns], axis=0):
        left = (x[:, columns] == value).all(1)
        rest = ~left
        covariance = kernel(z[rest], z[rest]) + np.diag(noise(z[rest]) / 2 + nugget)
        cross = kernel(z[left], z[rest])
        mu = cross @ np.linalg.solve(covariance, (s1[rest] + s2[rest]) / 2)
        claim = np.diag(kernel(z[left], z[left]) - cross @ np.linalg.solve(covariance, cross.T)) + nugget
        ratios.append(max(np.mean((s1[left] - mu) * (s2[left] - mu)), 0) / claim.mean())
    answer.append((len(ratios), (4 + sum(ratios)) / (4 + len(ratios))))
json.dump(answer, sys.stdout)
