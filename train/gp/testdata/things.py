"""Writes things.json: every intermediate number of a small case.
Additive Gaussian process of doubletake's train/gp in numpy, with random effects of things (labels).
Kernel: c^2 + sum w_i^2 x_i x_i' + a1^2 M52(all inputs) + a2^2 M52(inputs that vary within things)
        [+ b^2 1[same thing] M52(within inputs, the lengths of a2)]            shape of a thing (b: hyperparameter)
        + sum_c s_c^2 1[same label c]                                          offsets (s_c: grid, integrated)
Evidence of the hyperparameters is integrated over s (Woodbury: one Cholesky a step, whatever the grid)."""
import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.optimize import minimize
from scipy.special import ndtr, gammaln
from scipy.stats import t as T
SQ5 = 5 ** .5
GRID = np.array([0., .01, .02, .035, .06, .1, .16, .25, .4, .63, 1., 1.6, 2.5])

def prior_s(kind='ln', a=-1.5, b=1.25):
    """probabilities of GRID. The first is the value 0 (an atom), the others are steps of ln s."""
    g = np.log(GRID[1:]); w = np.gradient(g)
    if kind == 'ln': p = np.exp(-.5 * ((g - a) / b) ** 2) * w
    else: p = GRID[1:] * (1 + (GRID[1:] / a) ** 2 / b) ** (-(b + 1) / 2) * w          # half-t, scale a, b degrees of freedom, per ln s
    p = p / p.sum()
    return np.r_[.05, .95 * p]                                                        # 1 in 20: no effect

def noise_fit(X, u):
    """ln sigma^2 quadratic in x, Gamma regression of u=(y1-y2)^2/2"""
    F = np.c_[np.ones(len(X)), X, *[X[:, i:i + 1] * X[:, j:j + 1] for i in range(X.shape[1]) for j in range(i, X.shape[1])]]
    mean = u.mean() + 1e-12; b = np.zeros(F.shape[1]); b[0] = np.log(mean)
    G = F.T @ F; n = len(u); G[np.arange(1, len(b)), np.arange(1, len(b))] += 5e-5 * n
    for _ in range(60):
        m = np.exp(np.clip(F @ b, -30, 10)); b = b + .5 * np.linalg.lstsq(G, F.T @ np.clip((u + 1e-12 - m) / m, -1, 5), rcond=None)[0]
    m = np.exp(np.clip(F @ b, -30, 10)); lo, hi = m.min(), m.max()
    def at(Z):
        f = np.c_[np.ones(len(Z)), Z, *[Z[:, i:i + 1] * Z[:, j:j + 1] for i in range(Z.shape[1]) for j in range(i, Z.shape[1])]]
        return np.clip(np.exp(np.clip(f @ b, -30, 10)), lo, hi)
    return at

def m52(q):
    r = np.sqrt(q + 1e-12); e = np.exp(-SQ5 * r); return (1 + SQ5 * r + 5 / 3 * r * r) * e, (5 / 3) * (1 + SQ5 * r) * e   # k, -2 dk/dq... slope: dk/dln l = slope*d^2/l^2

class Process:
    """one outcome. X standardised n x D; y standardised; nv noise variance of each row's mean; gi inputs constant per thing;
    labels: list of integer arrays (n), one per random effect; the first is the thing held out. shape: own shapes of things."""
    def __init__(s, X, y, nv, gi, labels=(), shape=False, prior=None, sub=320, seed=0, maxiter=60, starts=3, gprior=None, bprior=(-3., 1.5)):
        """gprior: dict of priors for the inputs of things: lin=(mean, sd), len=(mean, sd) of logarithms"""
        s.X, s.y, s.nv, s.D = X, y, nv, X.shape[1]; s.gi = list(gi); s.oi = [j for j in range(s.D) if j not in s.gi]
        s.shape = shape and len(s.oi) > 0 and len(labels) > 0; s.labels = [np.asarray(l) for l in labels]
        p0 = prior_s() if prior is None else prior
        s.S, s.logp = np.zeros((1, 0)), np.zeros(1)
        for _ in s.labels:                                                            # product grid
            s.S = np.array([np.r_[a, g] for a in s.S for g in GRID]); s.logp = np.add.outer(s.logp, np.log(p0)).ravel()
        m, sd, st = [-.5, -3, -.5], [1.5, 1, 1.5], [-1, -3, -.7]
        m += [.3] * s.D + [-1] * s.D; sd += [1] * s.D + [1.5] * s.D; st += [0] * s.D + [-2] * s.D
        s.a2 = len(m)
        if s.oi: m += [-.5] + [.3] * len(s.oi); sd += [1.5] + [1] * len(s.oi); st += [-.7] + [0] * len(s.oi)
        s.b = len(m)
        if s.shape: m += [bprior[0]]; sd += [bprior[1]]; st += [-2.5]
        s.m, s.sd = np.array(m, float), np.array(sd, float); st = np.array(st, float)
        for j in s.gi:
            if gprior and 'lin' in gprior: s.m[3 + s.D + j], s.sd[3 + s.D + j] = gprior['lin']; st[3 + s.D + j] = gprior['lin'][0]
            if gprior and 'len' in gprior: s.m[3 + j], s.sd[3 + j] = gprior['len']; st[3 + j] = gprior['len'][0]
        n = len(y); ii = np.sort(np.random.default_rng(seed).permutation(n)[:sub]) if n > sub else np.arange(n)
        s._prep(ii)
        ss = [st]
        if s.oi:
            for k in (2, s.a2): v = st.copy(); v[k] = -2.5; ss.append(v)
        best = None
        for v in ss[:starts]:
            r = minimize(s.obj, v, jac=True, method='L-BFGS-B', options=dict(maxiter=maxiter, maxfun=int(maxiter * 1.5), ftol=1e-6, gtol=1e-3, maxcor=10))
            if best is None or r.fun < best.fun: best = r
        s.th, s.fun = best.x, best.fun
        s.factor()
    def _prep(s, ii):
        X = s.X[ii]; s.e = dict(X=X, y=s.y[ii], nv=s.nv[ii], d2=[(X[:, None, j] - X[None, :, j]) ** 2 for j in range(s.D)], xx=[np.outer(X[:, j], X[:, j]) for j in range(s.D)])
        s.e['Z'] = np.concatenate([(l[ii][:, None] == np.unique(l)[None]).astype(float) for l in s.labels], 1) if s.labels else np.zeros((len(ii), 0))
        s.ncol = [len(np.unique(l)) for l in s.labels]
        s.e['same'] = (s.labels[0][ii][:, None] == s.labels[0][ii][None]).astype(float) if s.labels else None
    def _woodbury(s, Ai, y, Z):
        """per grid point: R_g (K x K) and log evidence; A^-1, y, Z given"""
        W = Ai @ Z; Gm = Z.T @ W; a = Ai @ y; b = Z.T @ a; yy = y @ a; out = []; R = np.zeros((len(s.S), Z.shape[1], Z.shape[1]))
        for g, sv in enumerate(s.S):
            d = np.repeat(sv, s.ncol)
            M = np.eye(len(d)) + d[:, None] * Gm * d[None]; c = np.linalg.cholesky(M); Mi = np.linalg.inv(M)
            R[g] = d[:, None] * Mi * d[None]; out.append(-np.log(np.diag(c)).sum() - .5 * (yy - b @ R[g] @ b))
        return W, a, b, R, np.array(out)
    def obj(s, v):
        if np.any(np.abs(v) > 30): return 1e10, np.zeros_like(v)
        e = s.e; n = len(e['y']); h = np.exp(v); D = s.D; d = (v - s.m) / s.sd; f = .5 * d @ d; grad = d / s.sd
        il = np.exp(-2 * v[3:3 + D]); q = sum(a * w for a, w in zip(e['d2'], il)); k1, sl1 = m52(q); A1 = h[2] ** 2; k1 *= A1; sl1 *= A1
        K = k1 + h[0] ** 2
        w = h[3 + D:3 + 2 * D] ** 2
        for j in range(D): K = K + w[j] * e['xx'][j]
        if s.oi:
            il2 = np.exp(-2 * v[s.a2 + 1:s.a2 + 1 + len(s.oi)]); q2 = sum(e['d2'][j] * c for j, c in zip(s.oi, il2)); k2, sl2 = m52(q2); A2 = h[s.a2] ** 2
            c2 = A2
            if s.shape: B2 = h[s.b] ** 2; c2 = A2 + B2 * e['same']
            K = K + c2 * k2
        ng = h[1] ** 2; K[np.arange(n), np.arange(n)] += e['nv'] + ng
        L, info = lapack.dpotrf(K, lower=1)
        if info: return 1e10, np.zeros_like(v)
        Ai, _ = lapack.dpotri(L, lower=1); Ai = np.tril(Ai) + np.tril(Ai, -1).T; f += np.log(np.diag(L)).sum()
        W, a, b, R, ll = s._woodbury(Ai, e['y'], e['Z'])
        lw = ll + s.logp; z = lw.max(); wt = np.exp(lw - z); f -= z + np.log(wt.sum()); wt /= wt.sum()
        if W.shape[1]:
            al = a[:, None] - W @ (R @ b).T; al = al * np.sqrt(wt)
            G = Ai - W @ np.tensordot(wt, R, 1) @ W.T - al @ al.T
        else: G = Ai - np.outer(a, a)
        tr = np.trace(G); g2 = .5 * G
        grad[0] += 2 * h[0] ** 2 * g2.sum(); grad[1] += ng * tr; grad[2] += 2 * (g2 * k1).sum()
        gs = g2 * sl1
        for j in range(D): grad[3 + j] += (gs * e['d2'][j]).sum() * il[j]; grad[3 + D + j] += 2 * w[j] * (g2 * e['xx'][j]).sum()
        if s.oi:
            grad[s.a2] += 2 * A2 * (g2 * k2).sum(); gs = g2 * c2 * sl2
            for i, j in enumerate(s.oi): grad[s.a2 + 1 + i] += (gs * e['d2'][j]).sum() * il2[i]
            if s.shape: grad[s.b] += 2 * B2 * (g2 * k2 * e['same']).sum()
        return f, grad
    def cov(s, A, B, la=None, lb=None):
        """kernel without offsets; la, lb: label 0 of the rows (for shapes), -1 = new"""
        h = np.exp(s.th); D = s.D; q = sum(((A[:, None, j] - B[None, :, j]) / h[3 + j]) ** 2 for j in range(D)); K = h[2] ** 2 * m52(q)[0] + h[0] ** 2 + (A * h[3 + D:3 + 2 * D] ** 2) @ B.T
        if s.oi:
            q = sum(((A[:, None, j] - B[None, :, j]) / h[s.a2 + 1 + i]) ** 2 for i, j in enumerate(s.oi)); k = m52(q)[0]; c = h[s.a2] ** 2
            if s.shape: c = c + h[s.b] ** 2 * (la[:, None] == lb[None])
            K = K + c * k
        return K
    def diag(s, A):
        h = np.exp(s.th); D = s.D; v = h[0] ** 2 + h[2] ** 2 + (A * A) @ h[3 + D:3 + 2 * D] ** 2
        if s.oi: v = v + h[s.a2] ** 2 + (h[s.b] ** 2 if s.shape else 0)
        return v
    def factor(s):
        n = len(s.y); l0 = s.labels[0] if s.labels else np.zeros(n); K = s.cov(s.X, s.X, l0, l0); K[np.arange(n), np.arange(n)] += s.nv + np.exp(2 * s.th[1])
        for jit in (0, 1e-10, 1e-8, 1e-6):
            L, info = lapack.dpotrf(K + jit * np.eye(n), lower=1)
            if not info: break
        s.L = L; Ai, _ = lapack.dpotri(L, lower=1); s.Ai = np.tril(Ai) + np.tril(Ai, -1).T
        s.Z = np.concatenate([(l[:, None] == np.unique(l)[None]).astype(float) for l in s.labels], 1) if s.labels else np.zeros((n, 0))
        s.ncol = [len(np.unique(l)) for l in s.labels]
        s.W, s.a, s.b_, s.R, ll = s._woodbury(s.Ai, s.y, s.Z)
        lw = ll + s.logp; s.w = np.exp(lw - lw.max()); s.w /= s.w.sum()
        s.keep = np.flatnonzero(s.w > 1e-4); s.wk = s.w[s.keep] / s.w[s.keep].sum()
    def predict(s, A, la=None):
        """A: m x D; la: list of label arrays (value as in training, other = new). Returns mean, var (nugget in) per kept grid point: G x m, and weights"""
        m = len(A); l0 = s.labels[0] if s.labels else np.zeros(len(s.y)); a0 = la[0] if la is not None and s.labels else np.full(m, -1)
        k = s.cov(A, s.X, a0, l0); V = k @ s.Ai; kk = s.diag(A); base = kk - (V * k).sum(1); mu0 = k @ s.a; U = k @ s.W            # m x cols
        za = np.concatenate([(np.asarray(x)[:, None] == np.unique(l)[None]).astype(float) for x, l in zip(la, s.labels)], 1) if la is not None and s.labels else np.zeros((m, s.Z.shape[1]))
        M, Vv = [], []
        for g in s.keep:
            d = np.repeat(s.S[g], s.ncol) ** 2; R = s.R[g]; kz = za * d                                                       # cov with training via labels: kz Z^T
            GW = s.Z.T @ s.W; P = GW - GW @ R @ GW                                                                            # Z^T Q Z
            mu = mu0 - U @ (R @ s.b_) + kz @ (s.b_ - GW @ (R @ s.b_))
            var = base + np.einsum('ij,jk,ik->i', U, R, U) - 2 * np.einsum('ij,ij->i', kz, (U - U @ R @ GW)) - np.einsum('ij,jk,ik->i', kz, P, kz) + (s.S[g] ** 2).sum()
            M.append(mu); Vv.append(np.maximum(var, 1e-9) + np.exp(2 * s.th[1]))
        return np.array(M), np.array(Vv), s.wk
    def leave(s, blocks):
        """closed-form left-out groups: list of (mean G x m, var G x m)"""
        out = []
        for b in blocks:
            M, V = [], []
            for g in s.keep:
                R = s.R[g]; Qb = s.Ai[np.ix_(b, b)] - s.W[b] @ R @ s.W[b].T; qy = s.a[b] - s.W[b] @ (R @ s.b_)
                S = np.linalg.inv(Qb); M.append(s.y[b] - S @ qy); V.append(np.maximum(np.diag(S) - s.nv[b], 1e-9))
            out.append((np.array(M), np.array(V)))
        return out

import json
rng = np.random.default_rng(7); n = 24; g = np.repeat([0, 1, 2, 3], 6); ang = np.tile(np.linspace(-1.3, 1.3, 6), 4); dia = np.repeat([-1.2, -.3, .5, 1.1], 6)
X = np.round(np.c_[dia, ang], 6); y = np.round(.8 * ang + .3 * dia + np.repeat(rng.normal(0, .3, 4), 6) + rng.normal(0, .05, n), 6); nv = np.full(n, .001)
out = {}
for shape in (False, True):
    p = Process(X, y, nv, [0], [g], shape=shape, prior=prior_s('t', .35, 4), maxiter=1, starts=1)
    th = np.array([-.5, -3., -1., .5, .2, -1.2, -.8, -.6, .1, -2.5])[:10 if shape else 9]; f, gr = p.obj(th); p.th = th; p.factor(); p.keep = np.arange(len(GRID)); p.wk = p.w
    W, a, b, R, ll = p._woodbury(p.Ai, p.y, p.Z)
    Xn = np.array([[.2, .4], [.2, 2.]]); Mn, Vn, w = p.predict(Xn, [np.array([-1, -1])]); Mk, Vk, _ = p.predict(Xn, [np.array([2, 2])]); lo = p.leave([np.flatnonzero(g == 1)])[0]
    mm = lambda M, V: (M.T @ w, (V + M ** 2).T @ w - (M.T @ w) ** 2)
    J = lambda x: np.asarray(x).tolist()
    out['RES' if shape else 'RE'] = dict(order="theta: ln of constant, nugget, a1, lengths of a1 (2), slopes (2), a2, lengths of a2 (1), b", x=J(X), y=J(y), noise=J(nv), thing=J(g), group_inputs=[0], grid=J(GRID), prior=J(prior_s('t', .35, 4)), theta=J(th),
     objective=float(f), gradient=J(gr), log_evidence_of_grid_relative_to_s0=J(ll - ll[0]), weights=J(w), new_x=J(Xn), new_mean_of_grid=J(Mn), new_variance_of_grid=J(Vn), new_mean=J(mm(Mn, Vn)[0]), new_claim=J(mm(Mn, Vn)[1]),
     known_thing=2, known_mean=J(mm(Mk, Vk)[0]), known_claim=J(mm(Mk, Vk)[1]), left_out_thing=1, left_out_mean=J(lo[0].T @ w), left_out_claim_without_collapse=J(lo[1].T @ w), left_out_claim=J(mm(*lo)[1]))
    print(shape, f, mm(Mn, Vn), mm(Mk, Vk))
import os
json.dump(out, open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'things.json'), 'w'), indent=1)
