#!/usr/bin/env python3
"""Asks the program and scikit-learn for measured conditions that were left out, and compares the answers.

    questions.py PROGRAM [SET ...] [-units N]        (numpy, scikit-learn)

Each set is a measured table with two outcomes of each condition. The script leaves out one unit at a time: a single condition, or
all rows of one combination of two inputs. PROGRAM trains one split for each unit; scikit-learn's Gaussian process (Matern 5/2, one
length an input, white noise) is fitted to both outcomes of the remaining rows. Both are asked for intervals of one new measurement
at the left-out conditions. The script prints, by set and class: the units, the
units for which the program states no interval (conditions outside the others), the error of the mean and the interval score relative to
scikit-learn's (below 1 is better for the program), and the share of the left-out values inside the intervals of four levels.

The interval score of Gneiting and Raftery (2007) is the width plus 2/(1 - level) times the distance of a value outside; the script
averages it over the four levels. Relative figures are geometric means over the units.
"""
import argparse, csv, json, math, os, pathlib, subprocess, sys, tempfile, warnings
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from statistics import NormalDist

LEVELS = (.68, .90, .95, .99)
GROUP = 0  # the column of the input whose values are the program's groups
EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / 'examples'


def turbine():
    rows = list(csv.DictReader(open(EXAMPLES / 'rm2-turbine' / 'runs.csv')))
    pairs = {}
    for row in rows:
        pairs.setdefault((float(row['tow_speed_m_s']), float(row['tsr'])), []).append(row)
    for outcome, power in (('cp', 0), ('cd', 0), ('power_w', 3), ('drag_n', 2)):
        column = {'power_w': 'cp', 'drag_n': 'cd'}.get(outcome, outcome)
        scale = lambda u: 998 / 2 * .867 * u ** power if power else 1
        table = [(u, tsr, *(float(row[column]) * scale(u) for row in both[:2])) for (u, tsr), both in pairs.items() if len(both) > 1]
        yield f'turbine {outcome}', ('tow_speed_m_s', 'tsr'), np.array(table), None


def stand():
    rows = list(csv.DictReader(open(EXAMPLES / 'propeller-stand' / 'pairs-8000.csv')))[::4]
    names = ('blades', 'pitch_in', 'rpm')
    yield 'propeller stand kt', names, np.array([[float(row[c]) for c in (*names, 'kt_1', 'kt_2')] for row in rows]), (0, 1)


def wing():
    """Yields lift and drag of ../shared/real, or $DOUBLETAKE_REAL; the means of even and of odd samples are the two outcomes."""
    folder = pathlib.Path(os.environ.get('DOUBLETAKE_REAL', EXAMPLES.parents[1] / 'shared' / 'real')) / 'princeton-mae224-lift-drag'
    if not folder.is_dir():
        print('wing: skipped, the data are not here', file=sys.stderr)
        return
    for column, outcome in enumerate(('lift', 'drag')):
        table = []
        for name, speed, sweep in (('Speed1', 4.5, 1), ('Speed1R', 4.5, -1), ('Speed2', 5.5, 1)):
            for file in sorted((folder / name).glob('angle*.txt')):
                if (name, file.name) == ('Speed1R', 'angle0.txt'):
                    continue  # a copy of Speed1's
                samples = np.loadtxt(file, skiprows=1, usecols=column)
                table.append((float(file.stem[5:]), speed, sweep, samples[::2].mean(), samples[1::2].mean()))
        yield f'wing {outcome}', ('alpha_deg', 'u_inf_m_s', 'sweep'), np.array(table), (1, 2)


def units(table, combination, most):
    """Yields (class, rows left out) for single conditions, evenly chosen, and for combinations of two inputs."""
    singles = np.linspace(0, len(table) - 1, min(most, len(table))).round().astype(int)
    for i in singles:
        yield 'condition', np.arange(len(table)) == i
    if combination:
        for values in np.unique(table[:, combination], axis=0):
            mask = (table[:, combination] == values).all(1)
            rest = table[~mask]
            if all((rest[:, c] == v).any() for c, v in zip(combination, values)):
                yield 'combination', mask


def rival(names, train, asked):
    inputs = len(names)
    x, y = np.vstack([train[:, :inputs]] * 2), np.concatenate([train[:, -2], train[:, -1]])
    kernel = ConstantKernel(1) * Matern([1] * inputs, nu=2.5) + WhiteKernel(1e-3)
    gp = GaussianProcessRegressor(kernel, n_restarts_optimizer=2 if len(x) < 300 else 0, random_state=0)
    gp.fit((x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std())
    mean, sd = gp.predict((asked[:, :inputs] - x.mean(0)) / x.std(0), return_std=True)
    mean, sd = mean * y.std() + y.mean(), sd * y.std()
    return mean, [NormalDist().inv_cdf(.5 + level / 2) * sd for level in LEVELS]


def write(path, head, table):
    path.write_text(','.join(head) + '\n' + ''.join(','.join('%.9g' % v for v in row) + '\n' for row in table))


def program(path, names, train, asked):
    """Returns the program's means and half widths, or None if it states no interval somewhere."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write(folder / 't.csv', (*names, 'y_1', 'y_2'), train)
        write(folder / 'q.csv', names, asked[:, :len(names)])
        (folder / 'p.yaml').write_text(f'''version: 1
experiments:
  e:
    ingest: {{table: {{file: t.csv, inputs: [{', '.join(names)}]}}}}
    train: {{inputs: [{', '.join(names)}], seeds: 1, optimizer: {{epochs: 1}}, splits: {{each: {names[GROUP]}, final: {{test: none}}}}}}
''')
        call = lambda *words: subprocess.run([path, *words], cwd=folder, check=True, capture_output=True, text=True).stdout
        call('run', 'p.yaml')
        half = []
        for level in LEVELS:
            answer = json.loads(call('predict', 'runs/e/splits/final', '--conditions', 'q.csv', '--level', f'{level:g}',
                                     '--json', '--only', 'calibrated'))
            found = [c['prediction'] for c in answer['conditions']]
            if any(p['y_high'] is None for p in found):
                return None
            half.append(np.array([(p['y_high'] - p['y_low']) / 2 for p in found]))
        return np.array([p['y'] for p in found]), half


def score(mean, half, asked):
    """Returns the root mean square error, the mean interval score and the shares inside by level."""
    values = asked[:, -2:]
    distance = np.abs(values - mean[:, None])
    scores = [np.mean(2 * h[:, None] + 2 / (1 - level) * np.maximum(distance - h[:, None], 0)) for h, level in zip(half, LEVELS)]
    inside = [np.mean(distance <= h[:, None]) for h in half]
    return np.sqrt(np.mean((values.mean(1) - mean) ** 2)), np.mean(scores), inside


def main():
    warnings.filterwarnings('ignore')
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('program')
    parser.add_argument('-units', type=int, default=12, help='single conditions left out of each set')
    parser.add_argument('sets', nargs='*', help='only sets whose name contains one of these')
    options = parser.parse_intermixed_args()
    path = os.path.abspath(options.program)
    print('set,class,units,unanswered,values,error,score,' + ','.join(f'{who} {level:g}' for who in ('program', 'scikit-learn') for level in LEVELS))
    for name, names, table, combination in [*turbine(), *wing(), *stand()]:
        if options.sets and not any(s in name for s in options.sets):
            continue
        found, refused = {}, {}
        for kind, mask in units(table, combination, options.units):
            asked = table[mask]
            ours = program(path, names, table[~mask], asked)
            if ours is None:
                refused[kind] = refused.get(kind, 0) + 1
                continue
            theirs = rival(names, table[~mask], asked)
            found.setdefault(kind, []).append((len(asked), [score(*ours, asked), score(*theirs, asked)]))
        for kind, answers in found.items():
            counts = np.array([count for count, _ in answers])
            ratio = [math.exp(np.mean([math.log(ours[k] / theirs[k]) for _, (ours, theirs) in answers])) for k in (0, 1)]
            inside = [np.average([pair[who][2] for _, pair in answers], axis=0, weights=counts) for who in (0, 1)]
            print(f'{name},{kind},{len(counts)},{refused.get(kind, 0)},{2 * counts.sum()},{ratio[0]:.3f},{ratio[1]:.3f},' +
                  ','.join(f'{v:.3f}' for v in np.concatenate(inside)), flush=True)


if __name__ == '__main__':
    main()
