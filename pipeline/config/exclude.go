package config

import (
	"go.yaml.in/yaml/v3"

	"doubletake/ingest/setting"
	"doubletake/train/holdout"
)

// exclusions appends the entries of a list, or a single entry, to list. An entry is a text, which names files, or a
// mapping.
func (d *decoder) exclusions(node *yaml.Node, path string, list *setting.Exclusions) {
	for _, e := range items(node) {
		var x setting.Exclusion
		e = followAlias(e)
		if e.Kind == yaml.MappingNode {
			x = d.exclusion(e, path)
		} else {
			d.value(e, path, &x.Files)
		}

		*list = append(*list, x)
	}
}

// exclusion reads an entry that is a mapping: a file or conditions, a channel if only one is left out, and a reason.
func (d *decoder) exclusion(node *yaml.Node, path string) (x setting.Exclusion) {
	where := *node
	where.Content = nil
	for key, value := range d.entries(node, path) {
		switch key.Value {
		case "file":
			d.value(value, path+".file", &x.Files)
		case "channel":
			d.value(value, path+".channel", &x.Channel)
			if x.Channel == "" {
				d.fail(value, path+".channel", "expected the name or the number of a channel, found none")
			}
		case "reason":
			d.value(value, path+".reason", &x.Reason)
		case holdout.Random:
			d.fail(key, path+"."+key.Value, "belongs to splits; rows are left out by their conditions")
		default:
			where.Content = append(where.Content, key, value)
		}
	}

	switch {
	case x.Files == "" && x.Channel != "" && len(where.Content) == 0:
		d.fail(node, path, "expected the file or the conditions of the runs that lose channel %s, found none; "+
			"the key channels lists the channels to use in all runs", x.Channel)
	case x.Files == "":
		if conditions := d.holdout(&where, path); conditions != nil {
			x.Where = conditions
		}
	case len(where.Content) > 0:
		d.fail(node, path, "expected a file or conditions, found both; write two entries")
	}

	return x
}

// exclusionsSchema returns the JSON Schema of the values that decoder.exclusions reads.
func exclusionsSchema() map[string]any {
	text := map[string]any{"type": []string{"string", "number"}}
	one := map[string]any{"oneOf": []any{text, holdoutSchema()["oneOf"].([]any)[1]}}

	return map[string]any{"oneOf": []any{one, map[string]any{"type": "array", "items": one}}}
}

// Exclusions returns the exclusions of the experiment. They compare numbers within the tolerances of set points.
func (e *Experiment) Exclusions() setting.Exclusions {
	tolerances := setting.Tolerances(e.Ingest.Tolerances)
	isEqual := func(name string, a, b float64) bool { return tolerances[name].Equal(a, b) }
	var list setting.Exclusions
	for _, exclusion := range e.Ingest.Exclude {
		if conditions, ok := exclusion.Where.(holdout.Holdout); ok {
			exclusion.Where = holdout.About(conditions, isEqual)
		}

		list = append(list, exclusion)
	}

	return list
}
