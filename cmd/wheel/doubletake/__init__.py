"""Results of doubletake in Python: tables, models, runs. Needs numpy alone.

    import doubletake

    runs = doubletake.load("runs")                  # tables by name, read when used
    t = runs["drone/triplets"]                      # a dict of numpy arrays
    t["rpm"], t.units["rpm"], t.frame()             # frame() needs pandas

    m = doubletake.Model("runs/drone/splits/3-blades")
    p = m.predict({"blades": 3, "rpm": [4000, 5000], "theta_deg": 0})
    p["bpf1_db"].mean, p["bpf1_db"].cov

    for event in doubletake.run("pipeline.yaml"):
        print(event["event"], event.get("task", ""))

    doubletake.judge(frame, "runs/drone", groups="rotor")   # another program's predictions

The formulas are in docs/method.md of the sources.
"""

from ._arrow import FormatError, Table, read
from ._judge import Judgement, judge
from ._model import Model, Prediction
from ._run import RunError, program, run
from ._runs import Runs, load

__all__ = ["FormatError", "Judgement", "Model", "Prediction", "RunError", "Runs", "Table", "judge", "load", "program",
           "read", "run"]
__version__ = "0+source"
