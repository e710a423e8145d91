#!/usr/bin/env python3
"""The forms of things, their prior odds and the choice, from docs/method.md ("Other forms"), with the standard library.

    forms.py < FILE

FILE is {"representation": of honest.json, "inputs": names, "x": training rows}, of a
campaign whose outcomes are levels, whose properties are constant within each thing, and whose speed is rpm. It prints
{"prior": {form: ln of the odds, less that of raw}, "chosen": the form, "tip": [smallest, largest tip speed]}.
"""
import itertools
import json
import math
import statistics
import sys

job = json.load(sys.stdin)
names, rows = job['inputs'], job['x']
column = {n: [r[k] for r in rows] for k, n in enumerate(names)}
properties = ['blades', 'diameter_in', 'pitch_in']
spread = {n: statistics.pstdev(map(math.log, column[n])) for n in properties + ['rpm']}


def cost(n):
    """A narrow property costs the square of how often its deviation goes into that of the speed, at most 20."""
    times = spread['rpm'] / spread[n]
    return min(times ** 2, 20) if times > 2 else 0


def odds(start, kept, aside):
    return start - sum(map(cost, kept)) - 3 * sum(cost(n) == 0 for n in aside)


raw = odds(0, properties, [])
prior = {'raw': 0}
for name, own, start in (('log', properties, -3), ('tip(rpm,diameter_in)', ['blades', 'pitch_in'], 2)):
    for n in range(len(own) + 1):
        for aside in itertools.combinations(own, n):
            key = name + (' without ' + ','.join(aside) if aside else '')
            prior[key] = odds(start, [p for p in own if p not in aside], aside) - raw

evidence = {s['name']: s['evidence'] for s in job['representation']['tried']}
tip = [d * n for d, n in zip(column['diameter_in'], column['rpm'])]
json.dump({'prior': prior, 'chosen': max(prior, key=lambda f: evidence[f] + prior[f]), 'tip': [min(tip), max(tip)]},
          sys.stdout)
