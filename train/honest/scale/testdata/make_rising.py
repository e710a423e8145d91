"""Writes rising.json: campaigns of scale.json with rises of E|cov|, and their intervals, by the formulas of
docs/honest.md in numpy 1.24 and scipy 1.10, without hs2.py.

    python3 make_rising.py > rising.json
"""
import json
import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

L = np.linspace(np.log(.01), np.log(300), 90)
M = np.linspace(-3, 4, 57)
TAU = np.array([.1, .2, .3, .45, .6, .8, 1, 1.25, 1.5, 1.8, 2.2, 2.7])
OMEGA, GAMMA = [0, .5, 1, 1.5], np.arange(13) / 10
STEP = L[1] - L[0]
LAW = np.exp(-.5 * ((L - M[:, None, None]) / TAU[:, None]) ** 2)
LAW /= LAW.sum(-1, keepdims=True)


def convolved(v, omega, mode):
    if omega == 0:
        return v
    n = int(np.ceil(3 * omega / STEP))
    k = np.exp(-.5 * (np.arange(-n, n + 1) * STEP / omega) ** 2)
    return np.convolve(np.pad(v, n, mode), k / k.sum(), 'valid')


def shifted_law(p, by):  # each cell's mass to its two new neighbours
    out = np.zeros_like(p)
    for x, mass in zip(np.clip(np.arange(90) + by / STEP, 0, 89), p):
        k = min(int(x), 88)
        out[k] += mass * (k + 1 - x)
        out[k + 1] += mass * (x - k)
    return out


def learned(groups, outcomes, z, new, prior=(.5, .75, .8, .8)):
    shape = lambda g: (np.maximum(np.reshape(g['Claim'], (-1, outcomes)), 1e-9),
                       np.reshape(g['Distance'], (-1, 1)) * np.ones(outcomes))
    V, D = zip(*map(shape, groups))
    f = np.exp(np.mean([np.log(v).mean() for v in V]) - np.mean([np.log(d).mean() for d in D]))
    q = [lambda v, d: v, lambda v, d: np.sqrt(v * f * d), lambda v, d: f * d]
    w0 = np.exp(-.5 * ((M[:, None] - prior[0]) / prior[1]) ** 2 - .5 * (np.log(TAU / prior[2]) / prior[3]) ** 2)
    w0 = w0 * np.gradient(np.log(TAU))
    w0 /= w0.sum()
    logw = -.5 * ((GAMMA - .5) / .35) ** 2
    ev, law = np.zeros((3, 4, 13)), np.zeros((3, 4, 13, 90))
    for s in range(3):
        for o, omega in enumerate(OMEGA):
            ell = []
            for g, v, d in zip(groups, V, D):
                r, a = np.reshape(g['Residual'], v.shape), np.reshape(g['Noise'], v.shape)
                T = a[..., None] + 2 * q[s](v, d)[..., None] * np.exp(L)
                g_ = np.exp(-.5 * (np.log(T) + 2 * r[..., None] ** 2 / T))
                flat = np.log([convolved(x, omega, 'edge') for x in g_.reshape(-1, 90)])
                rows = np.arange(len(v)) if len(v) <= 150 else np.floor(np.arange(150) * ((len(v) - 1) / 149)).astype(int)
                rows[-1] = len(v) - 1
                ell.append(flat.reshape(len(v), -1, 90)[rows].sum((0, 1)) / len(rows))
            for c, gamma in enumerate(GAMMA):
                post = np.log(w0)
                for e, zh in zip(ell, z):
                    post = post + np.log((LAW * np.exp(np.interp(L + gamma * zh, L, e))).sum(-1))
                top = post.max()
                p = np.exp(post - top)
                ev[s, o, c] = top + np.log(p.sum()) + logw[c]
                law[s, o, c] = shifted_law(convolved((p[..., None] * LAW).sum((0, 1)) / p.sum(), omega, 'constant'), gamma * new)
    ev = np.exp(ev - ev.max())
    ev /= ev.sum()
    w = np.einsum('soc,sock->sk', ev, law)
    return q, w / w.sum(), ev


out, LEVELS = [], [.68, .9, .95, .98]
for c, z in zip(json.load(open('scale.json')), ([.7, -.4, .1, -.6, .3, 1.1], [-.2, .5, -.3, -2], [1, -1, 0])):
    q, w, ev = learned(c['groups'], c['outcomes'], z[:-1], z[-1])
    v = np.maximum(np.reshape(c['claim'], (-1, c['outcomes'])), 1e-9)
    d = np.reshape(c['distance'], (-1, 1)) * np.ones(c['outcomes'])
    var = np.concatenate([q[s](v, d).reshape(-1, 1) * np.exp(L) for s in range(3)], 1)
    noise, wt = np.array(c['noise']), w.ravel()
    half = [[brentq(lambda h: wt @ norm.sf(h / np.sqrt(x + a)) - (1 - level) / 2, 1e-9, 1e4, xtol=1e-13) for x, a in
             zip(var, noise)] for level in LEVELS]
    out.append(dict({k: c[k] for k in ('name', 'outcomes', 'groups', 'claim', 'noise', 'distance')}, levels=LEVELS, z=z,
                    gamma=float(ev.sum((0, 1)) @ GAMMA),
                    want=dict(wide=dict(evidence=ev.sum(2).tolist(), epistemic=(var @ wt).tolist(), half=half))))
print('[\n' + ',\n'.join(json.dumps(c) for c in out) + '\n]')
