package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"doubletake/train/experiment"
	"doubletake/train/holdout"
)

// Split is one train/test rule.
type Split = experiment.Split

// maxBlocks bounds the splits of a condition: each is trained per seed.
const maxBlocks = 1000

// validateSplit reports faults of a split, which is at key.
func validateSplit(s Split, key string, fail failFunc) {
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
// as random. The value is a mapping of bounds, or numbers, or names. heldOut returns nil if it reports a fault.
func (d *decoder) heldOut(key string, node *yaml.Node, path string) holdout.Holdout {
	if node.Kind == yaml.MappingNode {
		return d.heldOutBounds(key, node, path)
	}

	var held holdout.Holdout
	var err error
	if isText(node) {
		var names []string
		if !d.read(node, path, &names) {
			return nil
		}

		held, err = holdout.OfLabels(key, names...)
	} else {
		var values []float64
		if !d.read(node, path, &values) {
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

// heldOutBounds reads a range {min, max}, or a value with a tolerance {near, within}, of the condition key. It returns
// nil if it reports a fault.
func (d *decoder) heldOutBounds(key string, node *yaml.Node, path string) holdout.Holdout {
	var bounds holdout.Bounds
	if !d.read(node, path, &bounds) {
		return nil
	}

	held, wrongKey, err := bounds.Of(key)
	if err != nil {
		place := path
		if wrongKey != "" {
			place += "." + wrongKey
		}

		d.fail(node, place, "%v", err)
		return nil
	}

	return held
}

// read decodes a node into target. It returns false if it reports a fault.
func (d *decoder) read(node *yaml.Node, path string, target any) bool {
	faults := len(d.errs)
	d.value(node, path, target)

	return len(d.errs) == faults
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
