package sidecar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/fault"
)

// maxSidecar bounds the bytes of a sidecar.
const maxSidecar = 1 << 20

// Value is a number or a text of a file of keys and values.
type Value struct {
	Name   string
	Number float64 // NaN if the value is a text, or is not finite
	Text   string
}

// ReadValues reads the values of a YAML (or JSON) file of keys and values, in
// the order of the file. A value is named by the keys that lead to it, joined with dots: motor.speed.
// Lists are left out.
func ReadValues(path string) ([]Value, error) {
	content, err := fault.ReadFile(path, maxSidecar, "a file of conditions")
	if err != nil {
		return nil, withoutPath(err)
	}

	var doc yaml.Node
	err = yaml.NewDecoder(bytes.NewReader(content)).Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("expected keys and values, such as rpm: 3000, found an empty file")
	}

	if err != nil {
		return nil, fmt.Errorf("not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}

	if len(doc.Content) == 0 || followAlias(doc.Content[0]).Kind != yaml.MappingNode {
		return nil, errors.New("expected keys and values")
	}

	l := valueList{lines: map[string]int{}}
	if err := l.addMapping(followAlias(doc.Content[0]), "", 0); err != nil {
		return nil, err
	}

	return l.values, nil
}

// valueList collects the values of a file.
type valueList struct {
	values []Value
	lines  map[string]int // the line of each name, from 1
	keys   int            // keys read so far; an alias is read again each time
}

// maxKeys bounds the keys of a sidecar. Aliases of aliases could multiply the keys of a small file without end.
const maxKeys = 100_000

// addMapping adds the values of a mapping. prefix is the name of the mapping, and depth the number of keys in prefix.
func (l *valueList) addMapping(mapping *yaml.Node, prefix string, depth int) error {
	const maxDepth = 16
	if depth > maxDepth {
		return fmt.Errorf("line %d: keys within keys, more than %d deep", mapping.Line, maxDepth)
	}

	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind != yaml.ScalarNode {
			continue
		}

		l.keys++
		if l.keys > maxKeys {
			return fmt.Errorf("line %d: expected at most %d keys, with those that aliases repeat, found more", key.Line,
				maxKeys)
		}

		name := join(prefix, key.Value)
		value := followAlias(mapping.Content[i+1])
		var err error
		switch value.Kind {
		case yaml.MappingNode:
			err = l.addMapping(value, name, depth+1)
		case yaml.ScalarNode:
			err = l.addScalar(key.Line, name, value)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// addScalar adds one value, whose key is in the given line. A text, quoted or not, has the number NaN.
func (l *valueList) addScalar(line int, name string, value *yaml.Node) error {
	if first, twice := l.lines[name]; twice {
		return fmt.Errorf("line %d: %q occurs twice; first in line %d", line, name, first)
	}
	l.lines[name] = line

	number, err := strconv.ParseFloat(strings.TrimSpace(value.Value), 64)
	quoted := value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
	if err != nil || math.IsInf(number, 0) || quoted {
		number = math.NaN()
	}
	l.values = append(l.values, Value{name, number, value.Value})

	return nil
}

// followAlias returns the node that an alias refers to, and other nodes unchanged.
func followAlias(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}

	return node
}

// join appends a key to the name of a mapping, which may be "".
func join(name, key string) string {
	if name == "" {
		return key
	}

	return name + "." + key
}

// withoutPath returns an error of reading a file without its path, which the caller prints.
func withoutPath(err error) error {
	if system, ok := errors.AsType[*fs.PathError](err); ok {
		return system.Err
	}

	if data, ok := errors.AsType[*fault.Error](err); ok {
		anonymous := *data
		anonymous.Path = ""

		return &anonymous
	}

	return err
}
