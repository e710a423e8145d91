package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/internal/kv"
	"doubletake/train/holdout"
)

// Split is one train/test rule.
type Split struct {
	Name string

	// the held-out test set: for each condition a value, list, {min, max} or {near, within}, or names in a column of
	// text: {propeller: APC-8x6}. A row is held out if it meets all conditions.
	// A list of such sets holds out all of them: [{u: 35, flap: 20}, {u: 12, flap: 0}].
	// {random: 0.2} draws a share of the distinct conditions of the network; the name of the split determines the draw.
	// none trains a final model on everything; the other splits show how well such a model predicts
	Test holdout.Holdout `key:"test"`

	// instead of test: a condition; one split for each of its values, named condition=value. splits:
	// {each: blades} is short for it. With a column of text each name is a split. With several conditions,
	// [u, flap], each measured combination of their values is a split, named u=35,flap=20
	Each []string `key:"each"`

	// each: hold out this many blocks of neighbouring values instead of single values, named
	// condition=from..to; 0: single values. Names and combinations have no blocks
	Blocks int `key:"blocks" default:"0"`

	// Rows that belong to neither set. A split by which a variant is selected ignores the outer split's held-out rows;
	// nil: none are ignored.
	Ignored holdout.Holdout
}

// Final reports whether the split holds nothing out: it trains a final model.
func (s Split) Final() bool { return len(s.Test.Conditions()) == 0 }

// Setting returns the held-out conditions of the split as a setting of a task.
func (s Split) Setting() kv.Pair {
	return kv.Pair{Key: "train.splits." + s.Name + ".test", Value: s.Test.String()}
}

// InnerSplit separates, in the name of an inner split, the name of the outer split and the group of its training set
// that the inner split holds out.
const InnerSplit = "/inner/"

// Outer returns the name of the outer split of an inner split, and the name of any other split.
func (s Split) Outer() string {
	name, _, _ := strings.Cut(s.Name, InnerSplit)
	return name
}

// maxBlocks bounds the splits of a condition: each is trained per seed.
const maxBlocks = 1000

// validate reports faults of a split, which is at key.
func (s Split) validate(key string, fail failFunc) {
	fail.folder(key, s.Name)

	switch {
	case s.Test == nil && len(s.Each) == 0:
		fail(key, "expected test: {condition: value}, or each: condition, found none")
	case s.Test != nil && len(s.Each) > 0:
		fail(key, "expected test or each, found both")
	case s.Blocks != 0 && len(s.Each) == 0:
		fail(key+".blocks", "belongs to each")
	case s.Blocks != 0 && (s.Blocks < 2 || s.Blocks > maxBlocks):
		fail(key+".blocks", "expected 2 to %d blocks, or 0 for single values, found %d", maxBlocks, s.Blocks)
	}
}

// holdout reads the rows that a split holds out. It reports faults, and then may return nil.
func (d *decoder) holdout(node *yaml.Node, path string) holdout.Holdout {
	if node.Kind == yaml.ScalarNode && node.Value == "none" {
		return holdout.Nothing
	}

	if node.Kind == yaml.SequenceNode && len(node.Content) > 0 {
		return d.holdouts(node, path)
	}

	if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
		d.fail(node, path, "expected conditions and their held-out values, e.g. {blades: 2}, or none, found %s",
			describe(node))
		return nil
	}

	var parts []holdout.Holdout
	for key, value := range d.entries(node, path) {
		if h := d.heldOut(key.Value, followAlias(value), path+"."+key.Value); h != nil {
			parts = append(parts, h)
		}
	}

	return holdout.All(parts...)
}

// holdouts reads a list of sets of rows; their union is held out. It reports faults, and then may return nil.
func (d *decoder) holdouts(node *yaml.Node, path string) holdout.Holdout {
	var parts []holdout.Holdout
	for i, part := range node.Content {
		part = followAlias(part)
		place := fmt.Sprintf("%s[%d]", path, i)
		if part.Kind != yaml.MappingNode {
			d.fail(part, place, "expected conditions and their held-out values, e.g. {u: 35, flap: 20}, found %s",
				describe(part))
			return nil
		}

		if h := d.holdout(part, place); h != nil {
			parts = append(parts, h)
		}
	}

	return holdout.Any(parts...)
}

// heldOut reads the rows that one entry of a mapping holds out. key is a condition, or a word of package holdout such
// as random. heldOut returns nil if it reports a fault.
func (d *decoder) heldOut(key string, node *yaml.Node, path string) holdout.Holdout {
	faults := len(d.errs)
	if node.Kind == yaml.MappingNode {
		var b holdout.Bounds
		if d.value(node, path, &b); len(d.errs) > faults {
			return nil
		}

		held, place, err := b.Of(key)
		if err != nil {
			d.fail(node, strings.TrimSuffix(path+"."+place, "."), "%v", err)
			return nil
		}

		return held
	}

	var held holdout.Holdout
	var err error
	if isText(node) {
		var names []string
		if d.value(node, path, &names); len(d.errs) > faults {
			return nil
		}

		held, err = holdout.OfLabels(key, names...)
	} else {
		var values []float64
		if d.value(node, path, &values); len(d.errs) > faults {
			return nil
		}

		held, err = holdout.Of(key, values...)
	}

	if err != nil {
		d.fail(node, path, "%v", err)
		return nil
	}

	return held
}

// isText reports whether a value, or the first value of a list, is not a number.
func isText(node *yaml.Node) bool {
	if node.Kind == yaml.SequenceNode && len(node.Content) > 0 {
		node = followAlias(node.Content[0])
	}

	return node.Kind == yaml.ScalarNode && slices.Contains([]string{"!!str", "!!bool", "!!timestamp"}, node.ShortTag())
}

//go:embed holdout.json
var holdoutJSON []byte

// holdoutSchema returns the JSON Schema of the values that holdout reads.
func holdoutSchema() (s map[string]any) {
	if err := json.Unmarshal(holdoutJSON, &s); err != nil {
		panic("config: " + err.Error()) // it is in this folder
	}

	return s
}

var holdoutType = reflect.TypeFor[holdout.Holdout]()
