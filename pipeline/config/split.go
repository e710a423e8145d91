package config

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/pipeline/kv"
	"doubletake/train/holdout"
)

// Split is one train/test rule.
type Split struct {
	Name string

	// the held-out test set: a value, list, {min, max} or {near, within} per condition, or names of a column of
	// text: {propeller: APC-8x6}; all must hold.
	// {random: 0.2} draws a share of the distinct conditions of the network, by the split's name. none trains
	// a final model on everything; the other splits are its record
	Test holdout.Holdout `key:"test"`

	// instead of test: conditions; one split for each value of each of them, named condition=value. splits:
	// {each: blades} is short for it. Of a column of text each name is a split
	Each []string `key:"each"`

	// each: hold out this many blocks of neighbouring values instead of single values, named
	// condition=from..to; 0: single values. Names have no blocks
	Blocks int `key:"blocks" default:"0"`

	Without holdout.Holdout // rows that take no part, of splits by which a variant is selected; nil: none
}

// Final reports whether the split holds nothing out: it trains a final model.
func (s Split) Final() bool { return len(s.Test.Conditions()) == 0 }

// Setting is what the split holds out, as a setting of a task.
func (s Split) Setting() kv.Pair {
	return kv.Pair{Key: "train.splits." + s.Name + ".test", Value: s.Test.String()}
}

// InnerSplit comes between the names of a split and of a group of its training set.
const InnerSplit = "/inner/"

// Outer is the name of the split of whose training set a split holds a group out.
func (s Split) Outer() string {
	name, _, _ := strings.Cut(s.Name, InnerSplit)
	return name
}

const maxBlocks = 1000

func (s Split) validate(at string, fail failFunc) {
	fail.folder(at, s.Name)

	switch {
	case s.Test == nil && len(s.Each) == 0:
		fail(at, "expected test: {condition: value}, or each: condition, found none")
	case s.Test != nil && len(s.Each) > 0:
		fail(at, "expected test or each, found both")
	case s.Blocks != 0 && len(s.Each) == 0:
		fail(at+".blocks", "belongs to each")
	case s.Blocks != 0 && (s.Blocks < 2 || s.Blocks > maxBlocks):
		fail(at+".blocks", "expected 2 to %d blocks, or 0 for single values, found %d", maxBlocks, s.Blocks)
	}
}

// holdout reads what a split holds out; nil with an error.
func (d *decoder) holdout(n *yaml.Node, path string) holdout.Holdout {
	if n.Kind == yaml.ScalarNode && n.Value == "none" {
		return holdout.Nothing
	}

	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		d.fail(n, path, "expected conditions and their held-out values, e.g. {blades: 2}, or none, found %s", describe(n))
		return nil
	}

	var parts []holdout.Holdout
	d.eachKey(n, path, func(k, v *yaml.Node) {
		if h := d.heldOut(k.Value, resolve(v), path+"."+k.Value); h != nil {
			parts = append(parts, h)
		}
	})

	return holdout.All(parts...)
}

// heldOut reads what a key holds out, mostly a condition.
func (d *decoder) heldOut(key string, n *yaml.Node, path string) holdout.Holdout {
	before := len(d.errs)
	if n.Kind == yaml.MappingNode {
		var b holdout.Bounds
		if d.value(n, path, &b); len(d.errs) > before {
			return nil
		}

		h, at, err := b.Of(key)
		if err != nil {
			d.fail(n, strings.TrimSuffix(path+"."+at, "."), "%v", err)
		}

		return h
	}

	var values []float64
	var names []string
	if isText(n) {
		d.value(n, path, &names)
	} else {
		d.value(n, path, &values)
	}

	if len(d.errs) > before {
		return nil
	}

	h, err := holdout.Of(key, values...)
	if names != nil {
		h, err = holdout.OfLabels(key, names...)
	}

	if err != nil {
		d.fail(n, path, "%v", err)
	}

	return h
}

// isText reports whether a value, or the first of a list, is no number.
func isText(n *yaml.Node) bool {
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
		n = resolve(n.Content[0])
	}

	return n.Kind == yaml.ScalarNode && slices.Contains([]string{"!!str", "!!bool", "!!timestamp"}, n.ShortTag())
}

//go:embed holdout.json
var holdoutJSON []byte

// holdoutSchema is the JSON Schema of what holdout reads.
func holdoutSchema() (s map[string]any) {
	if err := json.Unmarshal(holdoutJSON, &s); err != nil {
		panic("config: " + err.Error()) // it is in this folder
	}

	return s
}

var holdoutType = reflect.TypeFor[holdout.Holdout]()
