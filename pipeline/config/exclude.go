package config

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/condition"
	"doubletake/train/holdout"
)

// Exclusion is one entry of ingest.exclude: it leaves out files, or recordings and rows of a table by their conditions.
// With Channel it leaves out only one channel of these files or recordings.
type Exclusion struct {
	Files   string          `path:"yes"` // a name or a glob; "" if Where is set
	Where   holdout.Holdout // conditions, all of which must be met; nil if Files is set
	Channel string          // name or number from 1; "": all channels
	Reason  string          // for the page; "": not given
}

// String returns the exclusion as messages and the settings of tasks show it.
func (x Exclusion) String() string {
	text := x.Files
	if x.Where != nil {
		text = x.Where.String()
	}

	if x.Channel != "" {
		text += ", channel " + x.Channel
	}

	if x.Reason != "" {
		text += " (" + x.Reason + ")"
	}

	return text
}

// Holds reports whether a row with these conditions and names is left out. x.Where must not be nil.
func (x Exclusion) Holds(row condition.Values) bool {
	for _, key := range x.Where.Conditions() {
		met := x.holdsNumber(row, key)
		if slices.Contains(x.Where.Labels(), key) {
			met = x.holdsName(row, key)
		}

		if !met {
			return false
		}
	}

	return true
}

// holdsNumber reports whether the row meets a condition that is a number. A row without the condition does not.
func (x Exclusion) holdsNumber(row condition.Values, key string) bool {
	value, ok := row.Numbers[key]

	return ok && x.Where.Holds(key, value)
}

// holdsName reports whether the row meets a condition that is a name. A row without the condition does not. Tables may
// have names that look like numbers: 3 is then the name "3".
func (x Exclusion) holdsName(row condition.Values, key string) bool {
	if name, ok := row.Names[key]; ok {
		return x.Where.HoldsLabel(key, name)
	}

	value, ok := row.Numbers[key]

	return ok && x.Where.HoldsLabel(key, strconv.FormatFloat(value, 'g', -1, 64))
}

// Exclusions are the entries of ingest.exclude.
type Exclusions []Exclusion

// Files returns the names and globs of files that are left out with all channels.
func (l Exclusions) Files() []string {
	var files []string
	for _, x := range l {
		if x.Where == nil && x.Channel == "" {
			files = append(files, x.Files)
		}
	}

	return files
}

// Where returns the exclusions by conditions that leave out all channels.
func (l Exclusions) Where() Exclusions {
	var list []Exclusion
	for _, x := range l {
		if x.Where != nil && x.Channel == "" {
			list = append(list, x)
		}
	}

	return list
}

// OfChannels returns the exclusions of single channels.
func (l Exclusions) OfChannels() Exclusions {
	var list []Exclusion
	for _, x := range l {
		if x.Channel != "" {
			list = append(list, x)
		}
	}

	return list
}

// decodeNode appends the entries of a list, or a single entry. An entry is a text, which names files, or a mapping.
func (l *Exclusions) decodeNode(d *decoder, node *yaml.Node, path string) {
	for _, e := range items(node) {
		var x Exclusion
		e = followAlias(e)
		if e.Kind == yaml.MappingNode {
			x = d.exclusion(e, path)
		} else {
			d.value(e, path, &x.Files)
		}

		*l = append(*l, x)
	}
}

// exclusion reads an entry that is a mapping: a file or conditions, a channel if only one is left out, and a reason.
func (d *decoder) exclusion(node *yaml.Node, path string) (x Exclusion) {
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
		x.Where = d.holdout(&where, path)
	case len(where.Content) > 0:
		d.fail(node, path, "expected a file or conditions, found both; write two entries")
	}

	return x
}

// exclusionsSchema returns the JSON Schema of the values that Exclusions.decodeNode reads.
func exclusionsSchema() map[string]any {
	text := map[string]any{"type": []string{"string", "number"}}
	one := map[string]any{"oneOf": []any{text, holdoutSchema()["oneOf"].([]any)[1]}}

	return map[string]any{"oneOf": []any{one, map[string]any{"type": "array", "items": one}}}
}
