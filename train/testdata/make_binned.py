"""Expected values for binned_test.go: torch's autograd in float64 (Debian's torch 1.13), with whole tables P.
python3 make_binned.py > binned.json"""
import json
import numpy as np
import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(11)
B, din, d, H, K = 23, 2, 2, 5, 4
x, y1, y2 = torch.randn(B, din), torch.randn(B, d), torch.randn(B, d)
# Values that float32 holds, so that both precisions have the same bins.
x, y1, y2 = (v.float().double() for v in (x, y1, y2))
out = dict(B=B, din=din, d=d, H=H, K=K, x=x.tolist(), y1=y1.tolist(), y2=y2.tolist())

params = [torch.randn(*s) * 0.4 for s in ((din, H), (H,), (H, H), (H,), (H, d * K * (K + 1)), (d * K * (K + 1),))]
for p in params:
    p.requires_grad_()
W1, b1, W2, b2, W3, b3 = params
net = lambda x: torch.relu(torch.relu(x @ W1 + b1) @ W2 + b2) @ W3 + b3
names = ["W1", "b1", "W2", "b2", "W3", "b3"]
out.update({n: p.tolist() for n, p in zip(names, params)})

edges, centre, within = [], [], []
for j in range(d):
    v = np.sort(np.r_[y1[:, j].numpy(), y2[:, j].numpy()])
    parts = np.split(v, [len(v) * i // K for i in range(1, K)])
    edges.append([(a[-1] + b[0]) / 2 for a, b in zip(parts, parts[1:])])
    centre.append([p.mean() for p in parts])
    within.append([p.var() for p in parts])
out.update(edges=edges, centre=centre, within=within)
bins = lambda y, j: torch.tensor(np.searchsorted(edges[j], y[:, j].numpy(), side="right"))


def table(o, j):
    """P[a, b] of outcome j at every row."""
    o = o[:, j * K * (K + 1) : (j + 1) * K * (K + 1)]
    pi, q = torch.softmax(o[:, :K], 1), torch.softmax(o[:, K:].reshape(-1, K, K), 2)
    return torch.einsum("nm,nma,nmb->nab", pi, q, q)


o = net(x)
loss = sum(-table(o, j)[torch.arange(B), bins(y1, j), bins(y2, j)].log().sum() for j in range(d)) / (B * d)
loss.backward()
out["loss"] = loss.item()
out.update({"grad_" + n: p.grad.tolist() for n, p in zip(names, params)})

res = {k: np.zeros((B, d)) for k in ("mu", "var", "cov", "mu_given_y1", "var_given_y1", "event", "event_v")}
with torch.no_grad():
    for j in range(d):
        P = table(o, j).numpy()
        c, w = np.array(centre[j]), np.array(within[j])
        p = P.sum(2)
        S = P - p[:, :, None] * p[:, None, :]
        assert abs(S.sum(2)).max() < 1e-15 and np.linalg.eigvalsh(S).min() > -1e-15
        res["mu"][:, j] = p @ c
        res["var"][:, j] = p @ (c * c + w) - (p @ c) ** 2
        res["cov"][:, j] = np.einsum("nab,a,b->n", S, c, c)
        given = P[np.arange(B), bins(y1, j).numpy()]
        given /= given.sum(1, keepdims=True)
        m = given @ c
        res["mu_given_y1"][:, j] = m
        res["var_given_y1"][:, j] = given @ (c * c + w) - m * m
        # The event "above the second edge" is that of the upper bins.
        res["event"][:, j] = p[:, 2:].sum(1)
        res["event_v"][:, j] = S[:, 2:, 2:].sum((1, 2))
out.update({k: v.tolist() for k, v in res.items()})
print(json.dumps(out))
