"""Expected values for laplace_test.go: torch's autograd and linear algebra in float64 (Debian's torch 1.13): Jacobians, the
precision of all weights, of the last layer, of Kronecker products and of all weights for mean and variance together, their
determinants and the variances that follow.
python3 make_laplace.py > laplace.json"""
import json
import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(3)
DIN, DOUT, HIDDEN, LAMBDA = 2, 2, [6, 5], 0.3
f32 = lambda a: a.float().double()
sizes = list(zip([DIN] + HIDDEN, HIDDEN + [2 * DOUT]))
W = [f32(torch.randn(i, o) / i**0.5) for i, o in sizes]
b = [f32(0.3 * torch.randn(o)) for _, o in sizes]


def forward(x, W, b):
    h, acts = x, [x]
    for w, c in zip(W[:-1], b[:-1]):
        h = torch.relu(h @ w + c)
        acts.append(h)
    o = h @ W[-1] + b[-1]
    return o[:DOUT], torch.nn.functional.softplus(o[DOUT:]) + 1e-6, acts


def derivatives(x):
    """J over all parameters of the means (layer by layer, inputs and one by outputs), activations and gradients."""
    Wg, bg = [w.clone().requires_grad_() for w in W], [c.clone().requires_grad_() for c in b]
    mu, var, acts = forward(x, Wg, bg)
    J, G = [], []
    for j in range(DOUT):
        g = torch.autograd.grad(mu[j], Wg + bg, retain_graph=True)
        parts = [torch.cat([w, c[None]]) for w, c in zip(g[: len(W)], g[len(W):])]
        parts[-1] = parts[-1][:, :DOUT]
        J.append(torch.cat([p.reshape(-1) for p in parts]))
        G.append([p[-1] for p in parts])  # derivative by the bias = by the pre-activation
    return mu.detach(), var.detach(), [torch.cat([a.detach(), torch.ones(1)]) for a in acts], torch.stack(J), G


def natural(x):
    """Jacobians by all parameters of the natural parameters mu/var and -1/(2 var), outcome by outcome, and of the means; the
    Hessian of -ln p by the natural parameters, which is that of the log partition whatever was measured."""
    params = [p.clone().requires_grad_() for p in W + b]

    def etas(*p):
        mu, var, _ = forward(x, p[: len(W)], p[len(W):])
        return torch.stack([mu / var, -0.5 / var], 1)

    rows = lambda v: torch.cat([g.reshape(len(v), -1) for g in v_by(v)], 1)
    v_by = lambda v: [torch.stack(q) for q in zip(*[torch.autograd.grad(s, params, retain_graph=True) for s in v])]
    eta = etas(*params)
    partition = lambda e: -e[0] ** 2 / (4 * e[1]) - 0.5 * torch.log(-2 * e[1])
    L = torch.block_diag(*[torch.autograd.functional.hessian(partition, e.detach()) for e in eta])
    return rows(eta.reshape(-1)), L, rows(forward(x, params[: len(W)], params[len(W):])[0])


def case(n):
    x, count = f32(torch.randn(n, DIN)), torch.tensor([2.0 * (1 + i % 3) for i in range(n)])
    D = [derivatives(v) for v in x]
    q = f32(1.5 * torch.randn(4, DIN))
    Q = [derivatives(v) for v in q]
    p = D[0][3].shape[1]
    H = LAMBDA * torch.eye(p)
    for (mu, var, acts, J, G), c in zip(D, count):
        H = H + J.T @ torch.diag(c / var) @ J
    full = [torch.diagonal(d[3] @ torch.linalg.solve(H, d[3].T)).tolist() for d in Q]
    out = dict(x=x.reshape(-1).tolist(), count=count.tolist(), q=q.reshape(-1).tolist(), mu=[d[0].tolist() for d in Q],
               full=full, full_logdet=torch.logdet(H).item())
    N = [natural(v) for v in x]
    H = LAMBDA * torch.eye(N[0][0].shape[1])
    for (J, L, _), c in zip(N, count):
        H = H + c * J.T @ L @ J
    both = [torch.diagonal(J @ torch.linalg.solve(H, J.T)).tolist() for _, _, J in map(natural, q)]
    out.update(natural=both, natural_logdet=torch.logdet(H).item())
    heads, logdets = [], []
    for j in range(DOUT):
        h = LAMBDA * torch.eye(HIDDEN[-1] + 1)
        for (mu, var, acts, J, G), c in zip(D, count):
            h = h + c / var[j] * torch.outer(acts[-1], acts[-1])
        heads.append([(d[2][-1] @ torch.linalg.solve(h, d[2][-1])).item() for d in Q])
        logdets.append(torch.logdet(h).item())
    out.update(last=torch.tensor(heads).T.tolist(), last_logdet=logdets)
    kron, ld = torch.zeros(len(Q), DOUT), 0.0
    for k in range(len(W)):
        A = sum(c * torch.outer(d[2][k], d[2][k]) for d, c in zip(D, count)) / count.sum()
        G = sum(c / d[1][j] * torch.outer(d[4][j][k], d[4][j][k]) for d, c in zip(D, count) for j in range(DOUT))
        B = torch.kron(A, G) + LAMBDA * torch.eye(len(A) * len(G))
        ld += torch.logdet(B).item()
        for i, d in enumerate(Q):
            for j in range(DOUT):
                v = torch.kron(d[2][k], d[4][j][k])
                kron[i, j] += v @ torch.linalg.solve(B, v)
    out.update(kronecker=kron.tolist(), kronecker_logdet=ld)
    return out


model = dict(format="doubletake-model", version=1, description="test", inputs=DIN, outcomes=DOUT, standardise=False,
             input_mean=[0, 0], input_std=[1, 1], outcome_mean=[0, 0], outcome_std=[1, 1], feedback="drop-weights",
             feedback_when_none=0, kernels="portable",
             config=dict(hidden=HIDDEN, dropout=0, feedback="drop-weights", feedback_value=0, beta=0.5, pairs="symmetrised",
                         learning_rate=1e-3, weight_decay=0, batch=32, epochs=1, schedule="constant", standardise=False, seed=1,
                         kernels="portable"), layers=[])
for k, (w, c) in enumerate(zip(W, b)):
    if k == 0:  # inputs of outcomes fed back, which the first answer does not see
        w = torch.cat([w, torch.zeros(DOUT, w.shape[1])])
    model["layers"].append({"in": w.shape[0], "out": w.shape[1], "activation": "linear" if k == len(W) - 1 else "relu",
                            "weights": w.tolist(), "bias": c.tolist()})
square = sum((w[:, :DOUT] if k == len(W) - 1 else w).square().sum().item() + (c[:DOUT] if k == len(W) - 1 else c).square().sum().item()
             for k, (w, c) in enumerate(zip(W, b)))
print(json.dumps(dict(model=model, square=square, few=case(9), many=case(60))))
