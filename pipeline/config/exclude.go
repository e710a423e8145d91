package config

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/condition"
	"doubletake/internal/lists"
	"doubletake/train/holdout"
)

// Exclusion is what is left out: files, or recordings and rows of a table by their conditions.
type Exclusion struct {
	Files  string          `path:"yes"` // a name or a glob; "": Where
	Where  holdout.Holdout // conditions, all of which must hold
	Reason string
}

// String returns the exclusion as messages and keys have it.
func (x Exclusion) String() string {
	text := x.Files
	if x.Where != nil {
		text = x.Where.String()
	}

	if x.Reason != "" {
		text += " (" + x.Reason + ")"
	}

	return text
}

// Holds reports whether a row with these conditions and names is left out.
func (x Exclusion) Holds(row condition.Values) bool {
	for _, c := range x.Where.Conditions() {
		v, isNumber := row.Numbers[c]
		name, isName := row.Names[c]
		asName := slices.Contains(x.Where.Labels(), c)
		if asName && !isName && isNumber {
			name, isName = strconv.FormatFloat(v, 'g', -1, 64), true
		}

		if asName && (!isName || !x.Where.HoldsLabel(c, name)) || !asName && (!isNumber || !x.Where.Holds(c, v)) {
			return false
		}
	}

	return true
}

// Exclusions are all of them.
type Exclusions []Exclusion

// Files are the names and globs of files.
func (l Exclusions) Files() []string {
	files := lists.Keep(l, func(x Exclusion) bool { return x.Where == nil })
	return lists.Each(files, func(x Exclusion) string { return x.Files })
}

// Where are those by conditions.
func (l Exclusions) Where() Exclusions {
	return lists.Keep(l, func(x Exclusion) bool { return x.Where != nil })
}

func (l *Exclusions) decodeNode(d *decoder, n *yaml.Node, path string) {
	for _, e := range items(n) {
		var x Exclusion
		if e = resolve(e); e.Kind == yaml.MappingNode {
			x = d.exclusion(e, path)
		} else {
			d.value(e, path, &x.Files)
		}

		*l = append(*l, x)
	}
}

// exclusion reads one with conditions or a reason.
func (d *decoder) exclusion(n *yaml.Node, path string) (x Exclusion) {
	where := *n
	where.Content = nil
	d.eachKey(n, path, func(k, v *yaml.Node) {
		switch k.Value {
		case "file":
			d.value(v, path+".file", &x.Files)
		case "reason":
			d.value(v, path+".reason", &x.Reason)
		case holdout.Random:
			d.fail(k, path+"."+k.Value, "belongs to splits; rows are left out by their conditions")
		default:
			where.Content = append(where.Content, k, v)
		}
	})

	switch {
	case x.Files == "":
		x.Where = d.holdout(&where, path)
	case len(where.Content) > 0:
		d.fail(n, path, "expected a file or conditions, found both; write two entries")
	}

	return x
}

// exclusionsSchema is the JSON Schema of what decodeNode reads.
func exclusionsSchema() map[string]any {
	text := map[string]any{"type": []string{"string", "number"}}
	one := map[string]any{"oneOf": []any{text, holdoutSchema()["oneOf"].([]any)[1]}}

	return map[string]any{"oneOf": []any{one, map[string]any{"type": "array", "items": one}}}
}
