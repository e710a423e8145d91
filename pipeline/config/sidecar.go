package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/fault"
)

// Sidecar is a file next to each recording with its conditions.
type Sidecar struct {
	// ending of its name, e.g. .yaml: run_1.wav has run_1.yaml
	Ending string `key:"ending" short:"yes"`

	// numbers by condition, as keys joined with dots, e.g. {rpm: motor.speed}, and names of things and occasions; empty:
	// all at the top level
	Values []NamedString `key:"values"`
}

func (s *Sidecar) validate(_ *File, _ *Experiment, key string, fail failFunc) {
	fail.when(s.Ending == "" || strings.ContainsAny(s.Ending, `/\`), key,
		"expected the ending of the files next to the recordings, e.g. .yaml, found %q", s.Ending)
}

// maxSidecar bounds what a sidecar may hold.
const maxSidecar = 1 << 20

// Value is a number or a text of a file of keys and values.
type Value struct {
	Name   string
	Number float64 // NaN of a text, or one that is not finite
	Text   string
}

// ReadValues reads the values of a YAML (or JSON) file of keys and values, in
// its order: those at the top by their key, deeper ones by the keys on the way
// joined with dots. Lists are left out.
func ReadValues(path string) (out []Value, err error) {
	defer fault.Catch(&err)
	b, err := fault.ReadFile(path, maxSidecar, "a file of conditions")
	fault.Raise(withoutPath(err))

	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(b)).Decode(&doc); err != nil {
		fault.Raise(fmt.Errorf("not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: ")))
	}

	fault.Unless(len(doc.Content) > 0 && resolve(doc.Content[0]).Kind == yaml.MappingNode,
		errors.New("expected keys and values"))

	seen := map[string]int{}
	var walk func(n *yaml.Node, prefix string, depth int)
	walk = func(n *yaml.Node, prefix string, depth int) {
		fault.Unless(depth <= 16, fmt.Errorf("line %d: keys within keys, more than 16 deep", n.Line))
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], resolve(n.Content[i+1])
			if k.Kind != yaml.ScalarNode {
				continue
			}

			name := join(prefix, k.Value)
			switch {
			case v.Kind == yaml.MappingNode:
				walk(v, name, depth+1)
			case v.Kind == yaml.ScalarNode:
				x, err := parseFloat(v.Value)
				if err != nil || math.IsInf(x, 0) || v.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
					x = math.NaN()
				}

				l, twice := seen[name]
				fault.Unless(!twice, fmt.Errorf("line %d: %q occurs twice; first in line %d", k.Line, name, l))
				seen[name] = k.Line
				out = append(out, Value{name, x, v.Value})
			}
		}
	}

	walk(resolve(doc.Content[0]), "", 0)

	return out, nil
}
