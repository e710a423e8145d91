"""Fits scikit-learn's Gaussian process to the table of command gp and prints the processor time in seconds and the number
of hyperparameters. The kernel has the terms of ours: a constant, slopes, two Matérn terms and a nugget, with a length for
each input. The search begins at three points, as ours does. Threads of BLAS are set by OPENBLAS_NUM_THREADS.

    python3 peer.py TABLE NOISE
"""
import sys
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern, WhiteKernel

warnings.filterwarnings("ignore")
table = np.loadtxt(sys.argv[1], delimiter=",")
x, y = table[:, :-1], table[:, -1]
x, y = (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()
inputs = x.shape[1]
kernel = (ConstantKernel() + ConstantKernel() * Matern(np.ones(inputs), nu=2.5) + ConstantKernel() * Matern(
    np.ones(inputs), nu=2.5) + DotProduct() + WhiteKernel())
start = time.process_time()
model = GaussianProcessRegressor(kernel, alpha=float(sys.argv[2]), n_restarts_optimizer=2, random_state=1).fit(x, y)
print(time.process_time() - start, len(model.kernel_.theta))
