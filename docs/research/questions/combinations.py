#!/usr/bin/env python3
"""Asks the program and scikit-learn for a combination that a simulated design leaves out, and compares the answers.

    combinations.py PROGRAM [LAW ...] [-first SEED] [-seeds N] > ../tables/combinations.csv        (numpy, scikit-learn)

A design measures all combinations of three factors twice, except for one combination of a speed and a third factor. PROGRAM trains
a final model on it; scikit-learn's Gaussian process is the one of questions.py. The script prints a line for each law and seed. The error
is the root mean square difference between a mean prediction and the law. The columns with a level have the share of the measured
values inside. The columns half have the mean half width of the 95 % intervals.

TestCombinations of docs/research/study computes the table of docs/research/intervals.md from these lines.
"""
import argparse
import csv
import os
import sys
import warnings
from dataclasses import dataclass
from typing import Callable

import numpy as np

import questions

HEAD = ('law', 'seed', 'values', *(f'{who}_{name}' for who in ('program', 'scikit')
                                   for name in ('error', 'half', *(f'{level:g}' for level in questions.LEVELS))))


@dataclass
class Law:
    """A law of a speed, a factor that is swept, and a third factor."""
    inputs: tuple
    values: tuple  # of each factor
    noise: float
    outcome: Callable


def stall(degrees, width):
    """Returns how far an angle is beyond the stall, from 0 to 1."""
    return 1 / (1 + np.exp(-degrees / width))


def wing(u, a, f):
    lift = (.095 * (a + 1.5) + .022 * f - .00012 * f * f) * (1 + .04 * np.log(u / 20))
    return lift * (1 - .3 * stall(a - 10 - .1 * (u - 20) + .15 * f, 1.2))


def other_wing(u, a, f):
    return (.1 * (a + 1) + .02 * f) * (1 + .03 * np.log(u / 20)) * (1 - .35 * stall(a - 11 - .05 * (u - 20) + .1 * f, 1.4))


def stand(n, j, p):
    a = p / np.pi / .75 - j
    return .11 * a / (.2 + np.abs(a)) * (1 + .05 * np.log(n / 60)) - .02 * j * j * (p - .6)


def propeller(n, j, p):
    return .12 * (p - j / 2) * (1 - .6 * j * j) * (n / 5000) ** .12 + .004 * np.cos(4 * p)


def level(u, theta, f):
    angle = np.radians(theta)
    return 70 + 50 * np.log10(u / 20) + 12 * np.log10(.15 + np.sin(angle / 2)) + .15 * f * np.cos(angle)


# wing and stand are the laws of a script from outside this repository, the others are those of TestMissingCombination.
LAWS = {
    'wing': Law(('u_m_s', 'alpha_deg', 'flap_deg'), ([12, 20, 30], np.arange(-4, 14.1, 1.5), [0, 10, 20, 30]), .005, wing),
    'stand': Law(('n_rps', 'j', 'pitch_ratio'), ([50, 70, 90, 110], np.arange(0, .71, .07), [.5, .65, .8]), .0006, stand),
    'propeller': Law(('rpm', 'advance_ratio', 'pitch_ratio'),
                     ([3000, 4000, 5000, 6000], np.arange(0, .61, .06), [.4, .6, .8, 1]), .0005, propeller),
    'level': Law(('u_m_s', 'theta_deg', 'flap_deg'), ([20, 30, 40, 60], np.arange(30, 151, 10), [0, 5, 10, 15]), .3, level),
    'other wing': Law(('u_m_s', 'alpha_deg', 'flap_deg'),
                      ([12, 20, 30], np.arange(-4, 14.1, 1.5), [0, 10, 20, 30]), .005, other_wing),
}


def design(law, seed):
    """Returns the rows of a design (three inputs, two outcomes), the true outcomes, and which rows are left out."""
    random = np.random.default_rng(seed)
    x = np.stack([column.ravel() for column in np.meshgrid(*law.values, indexing='ij')], axis=1)
    missing = (x[:, 0] == random.choice(law.values[0])) & (x[:, 2] == random.choice(law.values[2]))
    truth = law.outcome(*x.T)
    outcomes = truth[:, None] + law.noise * random.normal(size=(len(x), 2))
    return np.hstack([x, outcomes]), truth, missing


def figures(answer, asked, truth):
    """Returns the error, the half width, and the share of values inside for each level."""
    distance = np.abs(asked[:, -2:] - answer.mean[:, None])
    inside = [(distance <= half[:, None]).mean() for half in answer.half]
    half = answer.half[questions.LEVELS.index(.95)].mean()
    return [f'{value:.6g}' for value in (np.sqrt(np.mean((answer.mean - truth) ** 2)), half, *inside)]


def main():
    warnings.filterwarnings('ignore')
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('program')
    parser.add_argument('laws', nargs='*', help='only these laws')
    parser.add_argument('-first', type=int, default=301, help='the first seed')
    parser.add_argument('-seeds', type=int, default=24, help='the number of seeds')
    options = parser.parse_intermixed_args()
    path = os.path.abspath(options.program)

    table = csv.writer(sys.stdout, lineterminator='\n')
    table.writerow(HEAD)
    for name in options.laws or LAWS:
        law = LAWS[name]
        for seed in range(options.first, options.first + options.seeds):
            rows, truth, missing = design(law, seed)
            train, asked = rows[~missing], rows[missing]
            data = questions.Set(name, law.inputs, rows)
            ours, _ = questions.program(path, data, train, asked)
            theirs = questions.rival(data, train, asked)
            table.writerow([name, seed, 2 * missing.sum(),
                            *figures(ours, asked, truth[missing]), *figures(theirs, asked, truth[missing])])
            sys.stdout.flush()


if __name__ == '__main__':
    main()
