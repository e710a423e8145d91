"""Writes scale.json: campaigns drawn here, and the intervals of the prototype hs2.py for them.

    python3 make.py FOLDER_OF_HS2 > scale.json

with numpy 1.24 and scipy 1.10. A group is given by its conditions: mean residual, noise of
that mean (times two), claim, distance. Half widths are those of one new measurement at the
points asked for."""
import json, sys
import numpy as np

sys.path.insert(0, sys.argv[1])
import hs2 as hs

rng = np.random.default_rng(30)
LEVELS = [.5, .68, .9, .95, .98, .999]
PRIORS = {'wide': (.5, .75, .8, .8), 'library': (.5, .75, .3, .3)}


def campaign(sizes, outcomes, labels=False, tau=.7):
    left = []
    for n in sizes:
        lam = np.exp(.5 + tau * rng.standard_normal())
        v = np.exp(-3 + .8 * rng.standard_normal((n, outcomes)))
        d = np.ones(n) if labels else rng.uniform(.05, 1.2) * np.ones(n)
        a = np.exp(-5 + .4 * rng.standard_normal((n, outcomes)))
        r = np.sqrt(lam * v * np.exp(.6 * rng.standard_normal((n, outcomes))) + a / 2) * rng.standard_normal((n, outcomes))
        left.append(dict(r=r, a=a, v=v, d=d))
    n = 6
    test = dict(v=np.exp(-3 + rng.standard_normal((n, outcomes))), A=np.exp(-4 + rng.standard_normal((n, outcomes))),
                d=np.ones(n) if labels else rng.uniform(.001, 2, n))
    test['v'][0, 0] = 1e-12
    return left, test


def halves(left, test, prior, use):
    wide = lambda d, o: d[:, None] * np.ones(o)
    o = test['v'].shape[1]
    G = [(2 * g['r'] ** 2, g['a'], np.maximum(g['v'], 1e-9), wide(g['d'], o)) for g in left]
    V, D = [g[2] for g in G], [g[3] for g in G]
    tv, td = np.maximum(test['v'], 1e-9), wide(test['d'], o)
    f = np.exp(np.mean([np.log(v).mean() for v in V]) - np.mean([np.log(x).mean() for x in D])) if G else 1.
    Q = {'v': (V, tv), 'd': ([f * x for x in D], f * td),
         'vd': ([np.sqrt(v * f * x) for v, x in zip(V, D)], np.sqrt(tv * f * td))}
    ev, P = {}, {}
    for s in use:
        L = hs.loglik2(G, Q[s][0], 1.) if G else {om: np.zeros((0, 90)) for om in hs.OM}
        for om in hs.OM:
            p, e, _ = hs.post(L[om].reshape(-1, 90), prior)
            ev[s, om], P[s, om] = e, hs.convpdf(p, om)
    top = max(ev.values())
    w = {k: np.exp(e - top) for k, e in ev.items()}
    z = sum(w.values())
    var = np.concatenate([Q[s][1].ravel()[:, None] * hs.LAM[None] + test['A'].ravel()[:, None] for s in use], 1)
    wt = np.concatenate([sum(w[s, om] / z * P[s, om] for om in hs.OM) for s in use])
    wt /= wt.sum()
    epistemic = np.concatenate([Q[s][1].ravel()[:, None] * hs.LAM[None] for s in use], 1) @ wt
    return dict(evidence=[[w[s, om] / z for om in hs.OM] for s in use], epistemic=epistemic.tolist(),
                half=[hs.mixhalf(var, wt[None], l).tolist() for l in LEVELS])


out = []
for name, sizes, outcomes, labels in [('five groups', [4, 9, 6, 7, 5], 2, False), ('many conditions', [170, 3, 8], 1, False),
                                      ('two labels', [5, 6], 2, True), ('no group', [], 1, False)]:
    left, test = campaign(sizes, outcomes, labels)
    out.append(dict(
        name=name, outcomes=outcomes, levels=LEVELS,
        groups=[dict(Conditions=len(g['r']), Residual=g['r'].ravel().tolist(), Noise=g['a'].ravel().tolist(),
                     Claim=g['v'].ravel().tolist(), Distance=g['d'].tolist()) for g in left],
        claim=test['v'].ravel().tolist(), noise=test['A'].ravel().tolist(), distance=test['d'].tolist(),
        want={k: halves(left, test, hs.logprior(*p), ('v', 'vd', 'd') if left else ('v',)) for k, p in PRIORS.items()}))
print('[\n' + ',\n'.join(json.dumps(c) for c in out) + '\n]')
