"""Expected values for joint_test.go: torch's autograd and MultivariateNormal in float64 (Debian's torch 1.13).
python3 make_joint.py > joint.json"""
import json
import math
import torch
from torch.distributions import MultivariateNormal
from torch.nn.functional import softplus

torch.set_default_dtype(torch.float64)
torch.manual_seed(7)
B, din, d, H = 9, 2, 3, 5
x, y1, y2 = torch.randn(B, din), torch.randn(B, d), torch.randn(B, d)
out = dict(B=B, din=din, d=d, H=H, x=x.tolist(), y1=y1.tolist(), y2=y2.tolist())


def factor(raw):
    """Lower triangles row by row, softplus on the diagonal."""
    L = torch.zeros(len(raw), d, d)
    i, j = torch.tril_indices(d, d)
    L[:, i, j] = raw
    diag = softplus(torch.diagonal(L, dim1=1, dim2=2))
    return torch.tril(L, -1) + torch.diag_embed(diag)


def law(head, o):
    mu = o[:, :d]
    if head == "joint":
        return mu, torch.diag_embed(softplus(o[:, d : 2 * d]) + 1e-6), torch.diag_embed(softplus(o[:, 2 * d :]) + 1e-6)
    n = d * (d + 1) // 2
    LA, LC = factor(o[:, d : d + n]), factor(o[:, d + n :])
    return mu, LA @ LA.mT + 1e-6 * torch.eye(d), LC @ LC.mT


def loss(head, beta, o):
    mu, A, C = law(head, o)
    s, r = (y1 + y2 - 2 * mu) / math.sqrt(2), (y1 - y2) / math.sqrt(2)
    total = 0
    for M, z in ((A + 2 * C, s), (A, r)):
        if head == "joint":
            v = torch.diagonal(M, dim1=1, dim2=2)
            total = total + (v.detach() ** beta * (v.log() + z * z / v)).sum()
        else:
            ld, q = torch.logdet(M), (z * torch.linalg.solve(M, z[:, :, None])[:, :, 0]).sum(1)
            total = total + ((beta / d * ld).exp().detach() * (ld + q)).sum()
    return total / (2 * B * d)


for head, cols in (("joint", 3 * d), ("joint-full", d + d * (d + 1))):
    params = [torch.randn(*s) * 0.4 for s in ((din, H), (H,), (H, H), (H,), (H, cols), (cols,))]
    for p in params:
        p.requires_grad_()
    W1, b1, W2, b2, W3, b3 = params
    net = lambda x: torch.relu(torch.relu(x @ W1 + b1) @ W2 + b2) @ W3 + b3
    names = ["W1", "b1", "W2", "b2", "W3", "b3"]
    g = {n: p.tolist() for n, p in zip(names, params)}
    for beta in (0.0, 0.5, 0.3):
        value = loss(head, beta, net(x))
        for p in params:
            p.grad = None
        value.backward()
        g[f"loss_{beta}"] = value.item()
        for n, p in zip(names, params):
            g[f"grad_{beta}_{n}"] = p.grad.tolist()
    with torch.no_grad():
        mu, A, C = law(head, net(x))
        joint = MultivariateNormal(torch.cat([mu, mu], 1), torch.cat([torch.cat([A + C, C], 2), torch.cat([C, A + C], 2)], 1))
        # The loss with beta = 0 is the negative log density of the pair without its constant.
        nll = -joint.log_prob(torch.cat([y1, y2], 1)) - d * math.log(2 * math.pi)
        assert abs(nll.mean() / d - g["loss_0.0"]) < 1e-12
        M = A + C
        K = C @ torch.linalg.inv(M)
        g["mu"] = mu.tolist()
        g["var"] = torch.diagonal(M, dim1=1, dim2=2).tolist()
        g["cov"] = torch.diagonal(C, dim1=1, dim2=2).tolist()
        g["mu_given_y1"] = (mu + (K @ (y1 - mu)[:, :, None])[:, :, 0]).tolist()
        g["var_given_y1"] = torch.diagonal(M - K @ C, dim1=1, dim2=2).tolist()
    out[head] = g
print(json.dumps(out))
