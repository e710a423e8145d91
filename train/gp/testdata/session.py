"""Writes session.json: variances of what is asked for while a session of measurements goes on, and local scales.

Every value is an unknown of one joint normal law: the measured data, the measurements of the session, and what is asked
for. Two labels have offsets, the mounting and the day. The law of what is asked for follows from conditioning on the data
and the measurements by numpy's inverse; nothing is updated step by step.
Kernel: c^2 + sum w_i^2 x_i x_i' + a1^2 M52(x1, x2) + a2^2 M52(x2) + s^2 1[same mounting] + t^2 1[same day]
+ b^2 1[same mounting] M52(x2): in the case "curves" each mounting has a curve of its own, in the case "offsets" b is 0."""
import json
import numpy as np

S, T, NUGGET, PAIRS = .4, .16, .05, 2.
C, W, A1, L1, A2, L2 = .6, [.3, .2], .7, [1.1, .8], .5, [.9]


def matern(x, z, lengths):
    r = np.sqrt(5 * (((x[:, None] - z[None]) / lengths) ** 2).sum(-1))
    return (1 + r + r * r / 3) * np.exp(-r)


def kernel(x, z, a, b, own):
    """x, z: conditions; a, b: the mounting and the day of each, names that are equal where the offset is the same."""
    k = C * C + (x * np.square(W)) @ z.T + A1 ** 2 * matern(x, z, L1) + A2 ** 2 * matern(x[:, 1:], z[:, 1:], L2)
    for s, i in ((S, 0), (T, 1)):
        k = k + s * s * np.array([[p[i] == q[i] for q in b] for p in a])
    return k + own ** 2 * matern(x[:, 1:], z[:, 1:], L2) * np.array([[p[0] == q[0] for q in b] for p in a])


data = np.array([[a, b] for a in (-1., 0., 1.) for b in (-1.2, .1, 1.)])
of_data = [(f'mounting {k % 2}', f'day {k // 3}') for k in range(9)]
y = np.array([.3, -.8, 1.1, .2, .5, -.4, 1.6, -1.2, .1])
spread = np.full(9, .01)
asked = np.array([[-.5, .4], [.3, -.6], [.8, 1.1], [.3, -.6]])
# of the conditions 0 to 2 any new mounting is asked for, of condition 3 the mounting called M; the day is always new
of_asked = [(f'another {k}', f'another day {k}') for k in range(3)] + [('M', 'another day 3')]
# conditions 0, 2 and again 0 in one new mounting, then 3 in M, then 1 in one more new mounting; each on a day of its own
steps = [(0, 'third'), (2, 'third'), (0, 'third'), (3, 'M'), (1, 'fourth')]
measured = asked[[k for k, _ in steps]]
of_measured = [(name, f'session {k}') for k, (_, name) in enumerate(steps)]

x = np.concatenate([data, measured])
names = of_data + of_measured
noise = np.concatenate([spread, np.full(len(steps), 1 / (2 * PAIRS))]) + NUGGET ** 2


def local(k):
    """By how much squared errors at what is asked for are larger than on average: k is the covariance of the data."""
    ratios = []
    for i in range(len(data)):
        rest = np.arange(len(data)) != i
        weights = np.linalg.solve(k[np.ix_(rest, rest)], k[rest, i])
        ratios.append((y[i] - weights @ y[rest]) ** 2 / (k[i, i] - weights @ k[rest, i]))
    rho = (A1 ** 2 * matern(asked, data, L1) + A2 ** 2 * matern(asked[:, 1:], data[:, 1:], L2)) / (A1 ** 2 + A2 ** 2)
    mean = np.mean(ratios)
    return list((2 * mean + rho @ ratios) / (2 + rho.sum(1)) / mean)


def case(own):
    k = kernel(x, x, names, names, own) + np.diag(noise)
    across = kernel(asked, x, of_asked, names, own)
    prior = np.diag(kernel(asked, asked, of_asked, of_asked, own)) + NUGGET ** 2
    claims = []
    for n in range(len(steps) + 1):
        m = len(data) + n
        claims.append(list(prior - np.einsum('ij,jk,ik->i', across[:, :m], np.linalg.inv(k[:m, :m]), across[:, :m])))
    return {'x': data.tolist(), 'y': y.tolist(), 'local': local(k[:9, :9]), 'levels': [[k % 2, k // 3] for k in range(9)], 'spread': spread.tolist(), 's': [S, T],
            'nugget': NUGGET, 'pairs': PAIRS, 'c': C, 'w': W, 'a1': A1, 'l1': L1, 'a2': A2, 'l2': L2, 'b': own,
            'asked': asked.tolist(), 'steps': [k for k, _ in steps], 'claims': claims}


json.dump({'offsets': case(0), 'curves': case(.35)}, open('session.json', 'w'), indent=1)
