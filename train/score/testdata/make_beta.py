"""Expected values for beta_test.go: scipy's optimisation, quadrature and special functions (Debian's scipy 1.10).
python3 make_beta.py > beta.json"""
import json
import numpy as np
from scipy import integrate, linalg, optimize, special, stats

r = np.random.default_rng(4)
n = 150
mu, v = r.normal(size=n), 0.3 + r.uniform(size=n)
z = np.where(mu[:, None] > 0, 1.8, 0.7) * r.standard_t(6, size=(n, 2)) + 0.2
below, above = special.log_ndtr(z), special.log_ndtr(-z)


def logdens(a, b, c, below, above):
    """ln dc/dtau of the beta map, a and b positive."""
    e = a * below - b * above + c
    return special.log_expit(e) + special.log_expit(-e) + np.logaddexp(np.log(a) - below, np.log(b) - above)


def constant(t):
    return (t @ t) / 18 - 0.5 * logdens(np.exp(t[0]), np.exp(t[1]), t[2], below, above).sum()


t = optimize.minimize(constant, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x
a, b, c = np.exp(t[0]), np.exp(t[1]), t[2]
F = lambda x: special.expit(a * special.log_ndtr(x) - b * special.log_ndtr(-x) + c)
f = lambda x: np.exp(logdens(a, b, c, special.log_ndtr(x), special.log_ndtr(-x))) * stats.norm.pdf(x)
crps = lambda x: integrate.quad(lambda u: F(u) ** 2, -30, x, limit=400)[0] + integrate.quad(
    lambda u: (1 - F(u)) ** 2, x, 30, limit=400)[0]
quantile = lambda p: optimize.brentq(lambda x: F(x) - p, -40, 40, xtol=1e-13)

# The varying map with given pivots, length 0.6 and height 0.8, in units of the means' standard deviation.
scale, theta, height = mu.std(), 0.6, 0.8
pm, pv = np.array([-1.5, -0.4, 0.3, 1.4]), np.array([0.5, 0.9, 0.4, 0.7])


def k(m1, v1, m2, v2):
    w = v1 + v2 + theta**2
    return theta / np.sqrt(w) * np.exp(-((m1 - m2) ** 2) / (2 * w))


L = np.linalg.cholesky(k(pm[:, None], pv[:, None], pm[None], pv[None]))
phi = lambda m, s: linalg.solve_triangular(L, k(pm[:, None], pv[:, None], (m / scale)[None], (s / scale**2)[None]), lower=True)
P = phi(mu, v)


def maps(u, P):
    w = u.reshape(3, 4) @ P
    return a * np.exp(w[0]), b * np.exp(w[1]), c + w[2]


def varying(u):
    A, B, C = maps(u, P)
    return u @ u / (2 * height**2) - 0.5 * logdens(A[:, None], B[:, None], C[:, None], below, above).sum()


u = optimize.minimize(varying, np.zeros(12), method="BFGS", options={"gtol": 1e-7}).x
am, av = np.array([-2.0, -0.5, 0.1, 1.0, 5.0]), np.array([0.4, 1.2, 0.6, 0.5, 0.9])
A, B, C = maps(u, phi(am, av))
out = dict(
    mu=mu, v=v, z=z.ravel(), map=[a, b, c],
    at=[-3.0, -0.5, 0.0, 1.2, 6.0], density=[f(x) for x in (-3.0, -0.5, 0.0, 1.2, 6.0)],
    crps=[crps(x) for x in (-3.0, -0.5, 0.0, 1.2, 6.0)],
    quantiles=[quantile(p) for p in (0.001, 0.025, 0.5, 0.975)],
    second=integrate.quad(lambda x: x * x * f(x), -30, 30, limit=400)[0],
    scale=scale, theta=theta, height=height, pivot_mu=pm, pivot_var=pv,
    law_mu=am, law_var=av, varying=np.c_[A, B, C].ravel(),
)
print(json.dumps({k: np.asarray(x).tolist() for k, x in out.items()}))
