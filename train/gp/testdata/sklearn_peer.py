"""One evaluation of the log evidence and its gradient by scikit-learn, for the size of
BenchmarkEvidence: 320 conditions, 5 inputs, two Matérn kernels, a linear one, a constant and a
nugget (scikit-learn's second kernel has all inputs, its linear one a single deviation).
Prints the processor time in ms, the least of 15.

    OPENBLAS_NUM_THREADS=1 python3 sklearn_peer.py
"""
import time

import numpy as np
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern, WhiteKernel

n, inputs = 320, 5
rng = np.random.default_rng(1)
x, y = rng.standard_normal((n, inputs)), rng.standard_normal(n)
kernel = (ConstantKernel() + ConstantKernel() * Matern(np.ones(inputs), nu=2.5) + ConstantKernel() * Matern(
    np.ones(inputs), nu=2.5) + DotProduct() + WhiteKernel())
gp = GaussianProcessRegressor(kernel, alpha=np.full(n, 0.1), optimizer=None).fit(x, y)
theta = gp.kernel_.theta
least = np.inf
for _ in range(15):
    t = time.process_time()
    gp.log_marginal_likelihood(theta, eval_gradient=True, clone_kernel=False)
    least = min(least, time.process_time() - t)
print(f"scikit-learn {sklearn.__version__}: {1000 * least:.1f} ms, {len(theta)} hyperparameters")
