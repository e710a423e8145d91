"""Python peers of bench/train: reads one JSON command a line, answers one JSON line. Started by main.go
inside the reference's folder, whose steppers it runs as they are (bench_train.py, model.py)."""
import json, sys, time, numpy as np, torch
sys.path.insert(0, '.')
import bench_train as bt, model, prep

torch.set_num_threads(1)
DATA, PEER, NET = {}, {}, {}


def load(c):
    n, i, o = c['n'], c['in'], c['out']
    z = np.fromfile(c['file']).reshape(n, i + 2 * o)
    X, Y1, Y2 = z[:, :i], z[:, i:i + o], z[:, i + o:]
    if c['standardise']:
        s = prep.Std(X, Y1, Y2); X, Y1, Y2 = s.x(X), s.y(Y1), s.y(Y2)
    DATA[c['data']] = X, Y1, Y2


def peer(c):
    key = c['peer'], c['data']
    if key not in PEER:
        mk = {'torch': bt.torch_stepper, 'bmm': bt.bmm_stepper, 'numpy': bt.np_stepper, 'numba': bt.numba_stepper}[c['peer']]
        PEER[key] = mk(*DATA[c['data']], c['batch'])
        PEER[key][0](5)                                   # compile, warm up
    return PEER[key]


def train(c):
    try:
        run, nets, _ = peer(c)
    except ImportError as e:
        return {'missing': str(e)}
    t, p = time.perf_counter(), time.process_time()
    run(c['steps'])
    return {'wall': time.perf_counter() - t, 'cpu': time.process_time() - p, 'units': nets * c['batch'] * c['steps']}


def cov(c):
    """cov_theta of one network: speed does not depend on what torch's network has learned."""
    X, Y1, Y2 = DATA[c['data']]
    if c['data'] not in NET: NET[c['data']] = model.train(X, Y1, Y2, E=1, epochs=20, batch=32)
    t, p = time.perf_counter(), time.process_time()
    model.cov(NET[c['data']], X[:c['rows']], c['samples'], 'anti')
    return {'wall': time.perf_counter() - t, 'cpu': time.process_time() - p, 'units': c['rows'] * c['samples']}


for line in sys.stdin:
    c = json.loads(line)
    r = {'load': load, 'train': train, 'cov': cov}[c['do']](c)
    print(json.dumps(r or {}), flush=True)
