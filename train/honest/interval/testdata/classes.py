#!/usr/bin/env python3
"""The classes of conditions, from docs/honest.md ("Conditions that are no new group"), without the program's code.

    classes.py < FILE

FILE is a JSON list of designs: {"names": ..., "rows": conditions x inputs, "condition": name of the groups' condition,
"queries": conditions x inputs}. For each design and query the class and the names of the inputs whose units are left out are
printed, a JSON list of lists of [class, names]; names are null where the scale of the groups holds, and empty for single conditions.
"""
import itertools
import json
import sys


def classes(design):
    names, rows, group = design['names'], design['rows'], design['names'].index(design['condition'])
    inputs = range(len(names))
    values = [sorted({row[k] for row in rows}) for k in inputs]
    scatter = [k != group and (len(values[k]) > 40 or 2 * len(values[k]) > len(rows)) for k in inputs]
    gaps = []
    for size in (2, 3):
        if size < len(names):
            for some in itertools.combinations([k for k in inputs if not scatter[k] and len(values[k]) > 1], size):
                measured = {tuple(row[k] for k in some) for row in rows}
                possible = 1
                for k in some:
                    possible *= len(values[k])
                if len(measured) < possible and 2 * len(measured) <= len(rows):
                    gaps.append((some, measured))
    for query in design['queries']:
        if any(not values[k][0] <= query[k] <= values[k][-1] for k in inputs):
            yield 'outside', None
            continue
        known = [scatter[k] or query[k] in values[k] for k in inputs]
        if not known[group]:
            yield 'new value', None
            continue
        missing = [some for some, measured in gaps
                   if all(known[k] for k in some) and tuple(query[k] for k in some) not in measured]
        between = [k for k in inputs if not known[k]]
        if missing:
            yield 'combination', [names[k] for k in missing[0]]
        elif between:
            last = between[-1]
            yield 'between', [names[last]] if len(values[last]) >= 3 else None
        elif any(scatter):
            yield 'between', []
        else:
            yield ('measured' if query in rows else 'combination'), []


json.dump([list(classes(design)) for design in json.load(sys.stdin)], sys.stdout)
