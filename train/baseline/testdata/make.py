# Writes gp.json (scikit-learn's Gaussian process) and ../../testdata/dropout.json
# (a network in the model's file format and its moments under dropout, by
# enumeration of all masks with numpy and by sampling with torch).
# usage: /usr/bin/python3 make.py   (in this directory)
import itertools
import json

import numpy as np
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

rng = np.random.default_rng(11)

# --- Gaussian process ------------------------------------------------------
n, m, d = 40, 15, 2
x, z = rng.uniform(-2, 2, (n, d)), rng.uniform(-3, 3, (m, d))
noise = rng.uniform(0.005, 0.03, n)
y = np.sin(1.5 * x[:, 0]) + 0.3 * x[:, 1] + rng.normal(size=n) * np.sqrt(noise + 0.05 ** 2)
fixed = dict(amplitude=1.3, length=[0.8, 2.5], nugget=0.07)


def gp(optimizer):
    k = ConstantKernel(fixed["amplitude"] ** 2, (1e-4, 900)) * RBF(fixed["length"], (0.05, 100)) + WhiteKernel(fixed["nugget"] ** 2, (1e-8, 4))
    return GaussianProcessRegressor(k, alpha=noise, optimizer=optimizer, n_restarts_optimizer=4, random_state=0).fit(x, y)


a = gp(None)
mean, sd = a.predict(z, return_std=True)
lml, grad = a.log_marginal_likelihood(a.kernel_.theta, eval_gradient=True)
b = gp("fmin_l_bfgs_b")
json.dump(dict(x=x.ravel().tolist(), y=y.tolist(), noise=noise.tolist(), z=z.ravel().tolist(), fixed=fixed, mean=mean.tolist(),
               variance=(sd ** 2).tolist(),                  # of the latent function and the white kernel
               log=lml, gradient=grad.tolist(),              # by log of amplitude^2, lengths, nugget^2
               best=b.log_marginal_likelihood_value_), open("gp.json", "w"))

# --- dropout ---------------------------------------------------------------
din, dout, hidden, drop = 2, 2, [5, 6], round(0.2 * 65536) / 65536
sizes = [din + dout] + hidden + [2 * dout]
w = [np.float32(rng.normal(size=(i, o)) * 0.8) for i, o in zip(sizes, sizes[1:])]
c = [np.float32(rng.normal(size=o) * 0.3) for o in sizes[1:]]
imean, istd, omean, ostd = [1.0, -2.0], [0.5, 3.0], [10.0, -1.0], [2.0, 0.25]
model = dict(format="doubletake-model", version=1, description="test", inputs=din, outcomes=dout, standardise=True,
             input_mean=imean, input_std=istd, outcome_mean=omean, outcome_std=ostd, feedback="drop-weights", feedback_when_none=0, kernels="portable",
             config=dict(hidden=hidden, dropout=0.2, feedback="drop-weights", feedback_value=0, beta=0.5, pairs="symmetrised", learning_rate=1e-3,
                         weight_decay=0, batch=32, epochs=1, schedule="constant", standardise=True, seed=1, kernels="portable"),
             layers=[{"in": int(i), "out": int(o), "activation": act, "weights": W.tolist(), "bias": B.tolist()}
                     for i, o, act, W, B in zip(sizes, sizes[1:], ["relu", "relu", "linear"], w, c)])
xs = rng.normal(size=(4, 2)) * [0.5, 3] + [1, -2]
zin = np.concatenate([(xs - imean) / istd, np.zeros((4, dout))], 1)


def outputs(keep1, keep2):                                   # masks of 0 and 1
    h = np.maximum(zin @ w[0] + c[0], 0) * keep1 / (1 - drop)
    h = np.maximum(h @ w[1] + c[1], 0) * keep2 / (1 - drop)
    o = h @ w[2] + c[2]
    return o[:, :dout], np.log1p(np.exp(o[:, dout:])) + 1e-6


mu, m2, va, m4 = 0, 0, 0, 0
first = outputs(np.ones(5), np.ones(6))[0]
for bits in itertools.product([0, 1], repeat=sum(hidden)):
    p = np.prod([drop if k == 0 else 1 - drop for k in bits])
    a, v = outputs(np.array(bits[:5]), np.array(bits[5:]))
    mu, m2, va = mu + p * a, m2 + p * a ** 2, va + p * v
    m4 = m4 + p * (a - first) ** 4                           # an upper bound for the error of the variance
spread = m2 - mu ** 2
torch.manual_seed(0)
T = 200000
t = torch.tensor(zin, dtype=torch.float32).repeat(T, 1)
for i in range(2):
    t = torch.nn.functional.dropout(torch.relu(t @ torch.tensor(w[i]) + torch.tensor(c[i])), drop)
o = (t @ torch.tensor(w[2]) + torch.tensor(c[2])).numpy().reshape(T, 4, 2 * dout)[:, :, :dout]
ostd, omean = np.array(ostd), np.array(omean)
print("torch against enumeration, in standard errors:", np.abs((o.mean(0) - mu) / np.sqrt(spread / T)).max(),
      "variance ratio", (o.var(0) / spread).min(), (o.var(0) / spread).max())
json.dump(dict(model=model, x=xs.ravel().tolist(), mu=(mu * ostd + omean).ravel().tolist(), variance=(va * ostd ** 2).ravel().tolist(),
               spread=(spread * ostd ** 2).ravel().tolist(), fourth=(m4 * ostd ** 4).ravel().tolist(),
               torch_mu=(o.mean(0) * ostd + omean).ravel().tolist(), torch_spread=(o.var(0) * ostd ** 2).ravel().tolist(), torch_samples=T),
          open("../../testdata/dropout.json", "w"))
