# Writes additive.json: likelihood, gradient, predictions and left-out groups of an
# additive Gaussian process with fixed hyperparameters, by the Python prototype
# gplogo.py (torch, automatic differentiation), and its noise regression.
# usage: /usr/bin/python3 make.py FOLDER_OF_THE_PROTOTYPE   (in this directory)
import json
import sys

sys.path.insert(0, sys.argv[1])
import numpy as np
import torch
from gplogo import GP, noise_model

rng = np.random.default_rng(3)
n, D, m = 45, 4, 12
X = rng.normal(size=(n, D))
X[:, 0] = np.repeat([-1.2, -0.3, 0.4, 1.1, 1.9], 9)
X[:, 3] = 0.7 * X[:, 0] + 0.5 * X[:, 1]
grp, gi = np.repeat(np.arange(5), 9), [0, 3]
Z = rng.normal(size=(m, D)) * 1.5
sd = np.exp(-1.5 + 0.4 * X[:, 1])
y = np.sin(2 * X[:, 1]) + 0.5 * X[:, 0] + 0.3 * X[:, 2] * X[:, 0]
Y1, Y2 = (y + sd * rng.normal(size=n))[:, None], (y + sd * rng.normal(size=n))[:, None]
nf = noise_model(X, Y1, Y2)
va = nf(X)


def model(p):
    s = GP.__new__(GP)
    s.X, s.y, s.nv = torch.tensor(X), torch.tensor(0.5 * (Y1 + Y2)), torch.tensor(va / 2)
    s.gi, s.oi, s.add, s.lin, s.n = gi, [1, 2], True, True, 1
    s.blocks = [torch.tensor(np.where(grp == g)[0]) for g in range(5)]
    s.p = {k: torch.tensor(np.array([v]), requires_grad=True) for k, v in p.items()}
    return s


def loss(s):                                        # as in GP.__init__, mode ml
    K = s.K(s.X, s.X, 0) + torch.diag(s.nv[:, 0] + torch.exp(2 * s.p["ln"][0]))
    C = torch.linalg.cholesky(K)
    s.C, al = [C], torch.cholesky_solve(s.y[:, :1], C)
    s.al = [al[:, 0].detach()]
    L = 0.5 * (s.y[:, 0] @ al[:, 0]) + C.diagonal().log().sum()
    pp = s.p
    return L + 0.5 * ((pp["l1"] - 0.3).pow(2).sum() + (pp["l2"] - 0.3).pow(2).sum()) + 0.5 * ((pp["a1"] + 0.5) / 1.5).pow(2).sum() + 0.5 * (
        (pp["a2"] + 0.5) / 1.5).pow(2).sum() + 0.5 * ((pp["c"] + 0.5) / 1.5).pow(2).sum() + 0.5 * ((pp["li"] + 1.0) / 1.5).pow(2).sum() + 0.5 * (
        (pp["ln"] + 3) / 1.0).pow(2).sum()


cases = []
for k in range(3):
    g = np.random.default_rng(k)
    p = dict(l1=g.normal(0.3, 0.5, D), a1=g.normal(-0.7, 0.3), l2=g.normal(0.3, 0.5, 2), a2=g.normal(-0.7, 0.3), c=g.normal(-1, 0.3),
             li=g.normal(-1.5, 0.4, D), ln=g.normal(-2.5, 0.4))
    s = model(p)
    L = loss(s)
    L.backward()
    order = ["c", "ln", "a1", "l1", "li", "a2", "l2"]
    s.C = [s.C[0].detach()]
    with torch.no_grad():
        mu, v = s.predict(Z)
        lmu, lv = s.logo()
    cases.append(dict(theta=np.concatenate([np.ravel(p[q]) for q in order]).tolist(), value=float(L),
                      gradient=np.concatenate([s.p[q].grad.numpy().ravel() for q in order]).tolist(),
                      mean=mu.ravel().tolist(), variance=v.ravel().tolist(), left_mean=lmu.ravel().tolist(), left_variance=lv.ravel().tolist()))
json.dump(dict(inputs=D, group=grp.tolist(), group_inputs=gi, x=X.ravel().tolist(), y1=Y1.ravel().tolist(), y2=Y2.ravel().tolist(), z=Z.ravel().tolist(),
               noise=va.ravel().tolist(), noise_at=nf(Z).ravel().tolist(), cases=cases), open("additive.json", "w"))
