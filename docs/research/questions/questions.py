#!/usr/bin/env python3
"""Asks the program and scikit-learn for measured conditions that were left out, and compares the answers.

    questions.py PROGRAM [SET ...] [-units N] > ../tables/questions.csv        (numpy, scikit-learn)

Each set is a measured table with two outcomes of each condition. The script leaves out one unit at a time: a single condition, or
all conditions of one combination of two inputs. PROGRAM trains a final model on the rest; scikit-learn's Gaussian process (Matern 5/2,
one length an input, white noise) is fitted to both outcomes of the rest. Both are asked for intervals of one new measurement at the
left-out conditions.

The script prints one line for each unit and class. The class is the program's own word for the conditions of the unit, as in
docs/honest.md. Conditions for which the program states no interval have the class "no interval", and only scikit-learn's figures.
The error is the root mean square difference between a mean prediction and the mean of both outcomes. The interval score of Gneiting
and Raftery (2007) is the width plus 2/(1 - level) times the distance of a value outside, averaged over the four levels. The columns
with a level count the values inside; each condition has two values.

TestQuestions of docs/research/study computes the table of docs/research/intervals.md from these lines.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

LEVELS = (.68, .90, .95, .99)
GROUP = 0  # the column of the input whose values are the program's groups
ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / 'examples'
REAL = pathlib.Path(os.environ.get('DOUBLETAKE_REAL', ROOT.parent / 'shared' / 'real'))

SCORES = ('error', 'score', *(f'{level:g}' for level in LEVELS))
HEAD = ('set', 'left_out', 'unit', 'class', 'conditions',
        *(f'program_{name}' for name in SCORES), *(f'scikit_{name}' for name in SCORES))


@dataclass
class Set:
    """A measured table. The columns of rows are the inputs, then the two outcomes."""
    name: str
    inputs: tuple
    rows: np.ndarray
    combinations: tuple = ()  # pairs of columns whose combinations are left out


@dataclass
class Answer:
    """Means and half widths (one array a level) at some conditions."""
    mean: np.ndarray
    half: list

    def at(self, chosen):
        return Answer(self.mean[chosen], [half[chosen] for half in self.half])


def turbine():
    """Yields coefficients, power and drag of a turbine, each towed twice at the same speed and tip-speed ratio."""
    with open(EXAMPLES / 'rm2-turbine' / 'runs.csv') as file:
        runs = list(csv.DictReader(file))

    repeats = {}
    for run in runs:
        repeats.setdefault((float(run['tow_speed_m_s']), float(run['tsr'])), []).append(run)

    density, area = 998, .867
    for outcome, column, power in (('cp', 'cp', 0), ('cd', 'cd', 0), ('power_w', 'cp', 3), ('drag_n', 'cd', 2)):
        rows = []
        for (speed, tsr), both in repeats.items():
            scale = density / 2 * area * speed ** power if power else 1
            if len(both) > 1:
                rows.append((speed, tsr, *(scale * float(run[column]) for run in both[:2])))
        yield Set(f'turbine {outcome}', ('tow_speed_m_s', 'tsr'), np.array(rows))


def stand():
    """Yields the thrust coefficients of five-inch propellers that two motors measured at the same speed."""
    names = ('blades', 'pitch_in', 'rpm')
    with open(EXAMPLES / 'propeller-stand' / 'pairs-8000.csv') as file:
        pairs = list(csv.DictReader(file))[::4]

    rows = [[float(pair[column]) for column in (*names, 'kt_1', 'kt_2')] for pair in pairs]
    yield Set('propeller stand kt', names, np.array(rows), ((0, 1),))


def wing():
    """Yields lift and drag of a wing; the means of even and of odd samples are the two outcomes."""
    folder = REAL / 'princeton-mae224-lift-drag'
    if not folder.is_dir():
        print('wing: skipped, the data are not here', file=sys.stderr)
        return

    for column, outcome in enumerate(('lift', 'drag')):
        rows = []
        for name, speed, sweep in (('Speed1', 4.5, 1), ('Speed1R', 4.5, -1), ('Speed2', 5.5, 1)):
            for file in sorted((folder / name).glob('angle*.txt')):
                if (name, file.name) == ('Speed1R', 'angle0.txt'):
                    continue  # a copy of Speed1's
                samples = np.loadtxt(file, skiprows=1, usecols=column)
                rows.append((float(file.stem[5:]), speed, sweep, samples[::2].mean(), samples[1::2].mean()))
        yield Set(f'wing {outcome}', ('alpha_deg', 'u_inf_m_s', 'sweep'), np.array(rows), ((0, 1), (1, 2)))


# BALANCE turns the six voltages of the tail-sitter's balance into axial force, normal force and pitching moment.
BALANCE = np.array([[0.10573, -0.04946, -0.03339, 6.31374, -0.04072, -6.35659],
                    [10.12504, 0.21548, 10.10169, 0.36926, 10.57529, 0.28278],
                    [-0.17046, -0.00215, 0.08486, -0.03049, 0.08772, 0.03596]])


def gravity(angle):
    """Returns the terms by which gravity acts on the balance at an arm angle in radians."""
    return np.stack([np.ones_like(angle), np.cos(angle), np.sin(angle)], axis=1)


def balance():
    """Yields the forces on a tail-sitter without gravity; the two halves of a recording are the two outcomes."""
    folder = REAL / 'cyclone-ojf-force-balance'
    if not folder.is_dir():
        print('balance: skipped, the data are not here', file=sys.stderr)
        return

    def read(file):
        samples = np.loadtxt(file)
        return samples[:, 1:7] @ BALANCE.T, gravity(samples[:, 12])

    forces, terms = read(folder / '17_11_17__14_21.txt')
    tare = np.linalg.lstsq(terms, forces, rcond=None)[0]
    speeds = {'17_11_17__14_50.txt': 8, '17_11_17__15_10.txt': 10, '17_11_17__15_15.txt': 13}
    loads = {}
    for name in speeds:
        forces, terms = read(folder / name)
        loads[name] = forces - terms @ tare

    with open(folder / 'conditions.csv') as file:
        segments = [segment for segment in csv.DictReader(file) if segment['file'] in speeds]

    for column, outcome in enumerate(('axial_n', 'normal_n', 'pitch_nm')):
        rows = []
        for segment in segments:
            name = segment['file']
            samples = loads[name][int(segment['row0']):int(segment['row1']), column]
            middle = len(samples) // 2
            rows.append((speeds[name], float(segment['arm_angle_deg']), float(segment['servo1_us']),
                         samples[:middle].mean(), samples[middle:].mean()))
        yield Set(f'balance {outcome}', ('u_m_s', 'arm_deg', 'servo_us'), np.array(rows), ((0, 2),))


def evenly(count, most):
    """Returns at most `most` evenly spaced numbers below count."""
    return np.linspace(0, count - 1, min(most, count)).round().astype(int)


def describe(names, values):
    return ' '.join(f'{name}={value:g}' for name, value in zip(names, values))


def units(data, most):
    """Yields (kind, description, left-out rows) for single conditions and for combinations, at most `most` of each."""
    inputs = len(data.inputs)
    for i in evenly(len(data.rows), most):
        yield 'condition', describe(data.inputs, data.rows[i, :inputs]), np.arange(len(data.rows)) == i

    for pair in data.combinations:
        found = []
        for values in np.unique(data.rows[:, pair], axis=0):
            mask = (data.rows[:, pair] == values).all(1)
            rest = data.rows[~mask]
            both_values_remain = all((rest[:, column] == value).any() for column, value in zip(pair, values))
            if mask.sum() > 1 and both_values_remain:
                found.append((describe([data.inputs[column] for column in pair], values), mask))
        for i in evenly(len(found), most):
            yield 'combination', *found[i]


def rival(data, train, asked):
    """Returns scikit-learn's answer."""
    inputs = len(data.inputs)
    x = np.vstack([train[:, :inputs]] * 2)
    y = np.concatenate([train[:, -2], train[:, -1]])
    kernel = ConstantKernel(1) * Matern([1] * inputs, nu=2.5) + WhiteKernel(1e-3)
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=2 if len(x) < 300 else 0, random_state=0)
    process.fit((x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std())
    mean, sd = process.predict((asked[:, :inputs] - x.mean(0)) / x.std(0), return_std=True)
    quantiles = [NormalDist().inv_cdf(.5 + level / 2) for level in LEVELS]
    return Answer(mean * y.std() + y.mean(), [quantile * sd * y.std() for quantile in quantiles])


def write(path, head, rows):
    lines = [','.join(head), *(','.join('%.9g' % value for value in row) for row in rows)]
    path.write_text('\n'.join(lines) + '\n')


def plan(data):
    """Returns a configuration of one final model, which is calibrated on the groups of the first input."""
    names = ', '.join(data.inputs)
    group = data.inputs[GROUP]
    return f'''version: 1
experiments:
  e:
    ingest: {{table: {{file: t.csv, inputs: [{names}]}}}}
    train:
      inputs: [{names}]
      seeds: 1
      optimizer: {{epochs: 1}}
      honest: {{groups: {group}}}
      splits: {{final: {{test: none}}}}
'''


def program(path, data, train, asked):
    """Returns the program's answer, NaN where it states no interval, and its class for each condition."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write(folder / 't.csv', (*data.inputs, 'y_1', 'y_2'), train)
        write(folder / 'q.csv', data.inputs, asked[:, :len(data.inputs)])
        (folder / 'p.yaml').write_text(plan(data))

        def call(*words):
            return subprocess.run([path, *words], cwd=folder, check=True, capture_output=True, text=True).stdout

        call('run', 'p.yaml')
        half = []
        for level in LEVELS:
            printed = call('predict', 'runs/e/splits/final', '--conditions', 'q.csv', '--level', f'{level:g}',
                           '--json', '--only', 'calibrated')
            conditions = json.loads(printed)['conditions']
            found = [condition['prediction'] for condition in conditions]
            half.append(np.array([np.nan if p['y_high'] is None else (p['y_high'] - p['y_low']) / 2 for p in found]))

    mean = np.array([p['y'] for p in found])
    classes = [condition['position']['class'] for condition in conditions]
    return Answer(mean, half), classes


def scores(answer, asked):
    """Returns the error, the interval score, and the number of values inside for each level."""
    values = asked[:, -2:]
    distance = np.abs(values - answer.mean[:, None])
    penalties = [2 * half[:, None] + 2 / (1 - level) * np.maximum(distance - half[:, None], 0)
                 for half, level in zip(answer.half, LEVELS)]
    error = np.sqrt(np.mean((values.mean(1) - answer.mean) ** 2))
    inside = [int((distance <= half[:, None]).sum()) for half in answer.half]
    return [f'{error:.6g}', f'{np.mean(penalties):.6g}', *inside]


def lines(path, data, kind, unit, mask):
    """Yields a line for each class among the conditions of a unit."""
    train, asked = data.rows[~mask], data.rows[mask]
    ours, classes = program(path, data, train, asked)
    theirs = rival(data, train, asked)
    has_interval = np.isfinite(ours.half).all(0)
    classes = np.where(has_interval, classes, 'no interval')
    for name in sorted(set(classes)):
        chosen = classes == name
        figures = scores(ours.at(chosen), asked[chosen]) if name != 'no interval' else [''] * len(SCORES)
        yield [data.name, kind, unit, name, chosen.sum(), *figures, *scores(theirs.at(chosen), asked[chosen])]


def main():
    warnings.filterwarnings('ignore')
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('program')
    parser.add_argument('-units', type=int, default=16, help='the most units of each kind that are left out of a set')
    parser.add_argument('sets', nargs='*', help='only sets whose name contains one of these')
    options = parser.parse_intermixed_args()
    path = os.path.abspath(options.program)

    table = csv.writer(sys.stdout, lineterminator='\n')
    table.writerow(HEAD)
    for data in [*turbine(), *wing(), *stand(), *balance()]:
        if options.sets and not any(part in data.name for part in options.sets):
            continue
        for kind, unit, mask in units(data, options.units):
            table.writerows(lines(path, data, kind, unit, mask))
            sys.stdout.flush()


if __name__ == '__main__':
    main()
