"""Checks ONNX models with onnx.checker and prints, per file, the metadata and the
shapes that onnx infers, as JSON. Needs python3-onnx."""

import json
import sys

import onnx

out = []
for path in sys.argv[1:]:
    m = onnx.load(path)
    onnx.checker.check_model(m, full_check=True)
    kinds = {}
    for v in list(m.graph.input) + list(m.graph.output):
        t = v.type.tensor_type
        kinds[v.name] = [t.elem_type] + [d.dim_param or d.dim_value for d in t.shape.dim]
    out.append({"metadata": {p.key: p.value for p in m.metadata_props}, "kinds": kinds, "opset": m.opset_import[0].version})
json.dump(out, sys.stdout)
