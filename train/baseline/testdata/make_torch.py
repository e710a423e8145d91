# Writes torch.json: a ZigZag network and an ensemble of three, trained in torch
# (autograd, torch.optim) and evaluated there in float64: ZigZag's u^2 as its
# authors define it, the ensemble's moments by torch.distributions.
# usage: /usr/bin/python3 make_torch.py   (in this directory)
import json

import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)
CONSTANT, DIN, DOUT, HIDDEN = -20.0, 2, 2, [12, 10]
imean, istd, omean, ostd = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0]), torch.tensor([10.0, -1.0]), torch.tensor([2.0, 0.25])
z = torch.randn(200, DIN)
y = torch.stack([torch.sin(z[:, 0]) + 0.3 * z[:, 1], torch.cos(z[:, 1])], 1) + 0.2 * torch.randn(200, DOUT)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        s = [DIN + DOUT] + HIDDEN + [2 * DOUT]
        self.l = torch.nn.ModuleList(torch.nn.Linear(i, o) for i, o in zip(s, s[1:]))

    def forward(self, z, fed):
        h = torch.cat([z, fed], 1)
        for l in self.l[:-1]:
            h = torch.relu(l(h))
        o = self.l[-1](h)
        return o[:, :DOUT], torch.nn.functional.softplus(o[:, DOUT:]) + 1e-6


def nll(m, v, y):
    return (0.5 * torch.log(v) + (y - m) ** 2 / (2 * v)).mean()


def train(zigzag):
    n = Net()
    none = torch.full_like(y, CONSTANT if zigzag else 0.0)
    opt = torch.optim.Adam(n.parameters(), 3e-3)
    for _ in range(400):
        loss = nll(*n(z, none), y) + (nll(*n(z, y), y) if zigzag else 0)
        opt.zero_grad()
        loss.backward()
        opt.step()
    for p in n.parameters():                                 # evaluate the weights as written to the file
        p.data = p.data.float().double()
    return n


def export(n, feedback, value):
    kind = ["relu", "relu", "linear"]
    return dict(format="doubletake-model", version=1, description="test", inputs=DIN, outcomes=DOUT, standardise=True,
                input_mean=imean.tolist(), input_std=istd.tolist(), outcome_mean=omean.tolist(), outcome_std=ostd.tolist(),
                feedback=feedback, feedback_when_none=value, kernels="portable",
                config=dict(hidden=HIDDEN, dropout=0.05, feedback=feedback, feedback_value=value, beta=0.5, pairs="plain", learning_rate=1e-3,
                            weight_decay=0, batch=32, epochs=1, schedule="constant", standardise=True, seed=1, kernels="portable"),
                layers=[{"in": l.in_features, "out": l.out_features, "activation": a, "weights": l.weight.T.tolist(), "bias": l.bias.tolist()}
                        for l, a in zip(n.l, kind)])


f = lambda a: a.detach().ravel().tolist()
q = torch.cat([torch.randn(6, DIN), 3 * torch.randn(3, DIN)])
zz = train(True)
m, v = zz(q, torch.full((len(q), DOUT), CONSTANT))
u2 = (zz(q, m)[0] - m) ** 2
nets = [train(False) for _ in range(3)]
out = [n(q, torch.zeros(len(q), DOUT)) for n in nets]
mix = MixtureSameFamily(Categorical(torch.ones(len(q), DOUT, 3)), Normal(torch.stack([a for a, _ in out], -1), torch.stack([b for _, b in out], -1).sqrt()))
spread = torch.stack([a for a, _ in out]).var(0, unbiased=False)
json.dump(dict(x=f(q * istd + imean),
               zigzag=dict(model=export(zz, "constant", CONSTANT), mu=f(m * ostd + omean), total=f((v + u2) * ostd ** 2), epistemic=f(u2 * ostd ** 2)),
               ensemble=dict(models=[export(n, "drop-weights", 0) for n in nets], mu=f(mix.mean * ostd + omean), total=f(mix.variance * ostd ** 2),
                             epistemic=f(spread * ostd ** 2))), open("torch.json", "w"))
