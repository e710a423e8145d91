package pipeline

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/pipeline/config"
)

var updateLimits = flag.Bool("update-limits", false, "write config/limits.txt from what check takes")

// A side of the legal numbers of a key.
type side float64

const (
	below side = -1
	above side = 1
)

// bound returns the key of a schema for the outermost number that is accepted on a side.
func (s side) bound() string {
	if s == below {
		return "minimum"
	}

	return "maximum"
}

// exclusiveBound returns the key of a schema for the innermost number that is refused on a side.
func (s side) exclusiveBound() string {
	if s == below {
		return "exclusiveMinimum"
	}

	return "exclusiveMaximum"
}

// isFarther reports whether a is farther out than b on a side.
func (s side) isFarther(a, b float64) bool { return float64(s)*a > float64(s)*b }

// compare orders numbers from the innermost to the outermost on a side.
func (s side) compare(a, b float64) int { return cmp.Compare(float64(s)*a, float64(s)*b) }

// dependentBounds are the bounds that other keys or the data decide, so that no schema can have them.
var dependentBounds = map[string]string{
	"train.optimizer.batch":      "maximum",         // training rows
	"ingest.simulate.duration_s": "minimum maximum", // samples in all, and the campaign
	"ingest.simulate.rate_hz":    "minimum maximum", // the campaign
	"ingest.simulate.rpm":        "maximum",         // tip speed
	"ingest.simulate.blades":     "maximum",         // the rate
	"dsp.resolution_hz":          "minimum",         // the recordings' length
	"train.splits.<name>.blocks": "maximum",         // values measured
}

// A probe tries numbers of a key by loading a configuration.
type probe struct {
	base           string // of bases
	path           string // of the key in the configuration
	documented     string // of the key in the schema
	isWhole        bool   // the key takes whole numbers
	legal, refused []float64
}

// documentedPath returns the path of a key of limits as it is documented.
func documentedPath(key string) string {
	if pathInFile(key) == key {
		return key
	}

	return "experiments.<name>." + strings.Replace(key, "splits.each.", "splits.<name>.", 1)
}

// probes returns a probe for each limit of a key that takes a number, or a list of numbers.
func probes() []probe {
	types := map[string]string{}
	for _, k := range config.Keys() {
		types[k.Path] = strings.TrimSuffix(strings.TrimPrefix(k.Type, "list of "), "s")
	}

	var all []probe
	for _, l := range limits {
		for _, key := range l.keys() {
			documented := documentedPath(key)
			isWhole := types[documented] == "whole number"
			p := probe{
				base: l.base, path: pathInFile(key), documented: documented, isWhole: isWhole,
				legal: numbersIn(l.legal, isWhole), refused: numbersIn(l.refused, isWhole),
			}
			if len(p.legal) > 0 && (isWhole || types[documented] == "number") {
				all = append(all, p)
			}
		}
	}

	return all
}

// numbersIn returns the numbers of a list of values, or only the whole ones.
func numbersIn(list string, onlyWhole bool) []float64 {
	var numbers []float64
	for _, value := range strings.Fields(list) {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue // a list or a mapping
		}

		isWhole := v == math.Trunc(v) && math.Abs(v) <= 1<<53
		if isWhole || !onlyWhole {
			numbers = append(numbers, v)
		}
	}

	return numbers
}

// accepts reports whether the key accepts a number.
func (p probe) accepts(t *testing.T, dir string, v float64) bool {
	t.Helper()
	return loadWith(t, dir, p.base, p.path, formatNumber(v)) == nil
}

// formatNumber returns the shortest text of a number.
func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// neighbour returns the next number on a side.
func (p probe) neighbour(v float64, s side) float64 {
	if p.isWhole {
		return v + float64(s)
	}

	return math.Nextafter(v, math.Inf(int(s)))
}

// edges returns the outermost legal number of the table of limits on a side, and the innermost refused number beyond
// it. It returns false if there is none, or if other keys or the data decide the bound.
func (p probe) edges(s side) (legal, refused float64, ok bool) {
	if strings.Contains(dependentBounds[strings.TrimPrefix(p.documented, "experiments.<name>.")], s.bound()) {
		return 0, 0, false
	}

	legal = slices.MaxFunc(p.legal, s.compare)
	var beyond []float64
	for _, v := range p.refused {
		if s.isFarther(v, legal) {
			beyond = append(beyond, v)
		}
	}

	if len(beyond) == 0 {
		return 0, 0, false
	}

	return legal, slices.MinFunc(beyond, s.compare), true
}

// rank numbers the values of a key in ascending order, so that neighbours differ by 1.
func (p probe) rank(v float64) int64 {
	if p.isWhole {
		return int64(v)
	}

	// Bits of positive floating-point numbers are in the order of the numbers. Negative ones have the sign bit set, and
	// are in the opposite order.
	bits := int64(math.Float64bits(v))
	if bits >= 0 {
		return bits
	}

	return math.MinInt64 - bits
}

// ranked returns the number of a rank.
func (p probe) ranked(rank int64) float64 {
	switch {
	case p.isWhole:
		return float64(rank)
	case rank >= 0:
		return math.Float64frombits(uint64(rank))
	default:
		return math.Float64frombits(uint64(math.MinInt64 - rank))
	}
}

// find returns the line of limits.txt for a side, and "" if the schema has no bound there. Bisection finds the
// outermost number that the key accepts and its neighbour, which it refuses. The line has the one that is shorter to
// write.
func (p probe) find(t *testing.T, dir string, s side) string {
	t.Helper()

	legal, refused, ok := p.edges(s)
	if !ok {
		return ""
	}

	accepted := p.rank(legal)
	beyond := p.rank(refused)
	for max(accepted, beyond)-min(accepted, beyond) > 1 {
		middle := accepted + (beyond-accepted)/2
		if p.accepts(t, dir, p.ranked(middle)) {
			accepted = middle
		} else {
			beyond = middle
		}
	}

	inclusive := formatNumber(p.ranked(accepted))
	exclusive := formatNumber(p.ranked(beyond))
	if p.isWhole || len(inclusive) <= len(exclusive) {
		return fmt.Sprintf("%s %s %s\n", p.documented, s.bound(), inclusive)
	}

	return fmt.Sprintf("%s %s %s\n", p.documented, s.exclusiveBound(), exclusive)
}

// The bounds of the schema are those of loading: at each bound loading accepts one number and refuses its neighbour.
// Every number that the table of limits says is too small or too large is outside of them. -update-limits finds the
// bounds anew.
func TestSchemaLimits(t *testing.T) {
	dir := t.TempDir()
	limitData(t, dir)

	if *updateLimits {
		lines := map[string]bool{}
		for _, p := range probes() {
			lines[p.find(t, dir, below)] = true
			lines[p.find(t, dir, above)] = true
		}

		text := strings.Join(slices.Sorted(maps.Keys(lines)), "")
		require.NoError(t, os.WriteFile("config/limits.txt", []byte(text), 0o644))

		return // the schema has them after the next build
	}

	bounds := 0
	for _, p := range probes() {
		for _, s := range []side{below, above} {
			if _, _, ok := p.edges(s); ok {
				bounds++

				t.Run(p.base+" "+p.path+" "+s.bound(), func(t *testing.T) { p.assertBound(t, dir, s) })
			}
		}
	}

	assert.GreaterOrEqual(t, bounds, 80, "bounds that were compared")
}

// assertBound asserts that the bound of the schema on a side is that of loading.
func (p probe) assertBound(t *testing.T, dir string, s side) {
	t.Helper()

	schema := schemaAt(t, p.documented)
	inclusive, isInclusive := schema[s.bound()].(float64)
	exclusive, isExclusive := schema[s.exclusiveBound()].(float64)
	require.NotEqual(t, isInclusive, isExclusive, "the schema must have either %s or %s", s.bound(), s.exclusiveBound())

	accepted := inclusive
	refused := p.neighbour(inclusive, s)
	if isExclusive {
		accepted = p.neighbour(exclusive, -s)
		refused = exclusive
	}

	assert.True(t, p.accepts(t, dir, accepted), "%g must be accepted", accepted)
	assert.False(t, p.accepts(t, dir, refused), "%g must be refused", refused)

	_, first, _ := p.edges(s)
	assert.False(t, s.isFarther(refused, first), "the table refuses %g, which must not be inside %g", first, refused)
}

// schemaAt returns the schema of a documented key.
func schemaAt(t *testing.T, path string) map[string]any {
	t.Helper()

	schema := config.Schema()
	for _, name := range strings.Split(path, ".") {
		schema = schemaOfKey(schema, name)
		require.NotNil(t, schema, "the schema must have %s of %s", name, path)
	}

	require.NotNil(t, schema["description"], "description of %s", path)

	return schema
}

// schemaOfKey returns the schema of a key of a section, and nil if the section has no such key. <name> is any name. If
// the section may be written in several ways, the schema is that of the last way with the key.
func schemaOfKey(section map[string]any, name string) map[string]any {
	ways := []any{section}
	if alternatives, ok := section["oneOf"].([]any); ok {
		ways = append(ways, alternatives...)
	}

	var schema map[string]any
	for _, way := range ways {
		object := way.(map[string]any)
		properties, _ := object["properties"].(map[string]any)
		if property, ok := properties[name].(map[string]any); ok {
			schema = property
		}

		if additional, ok := object["additionalProperties"].(map[string]any); ok && name == "<name>" {
			schema = additional
		}
	}

	return schema
}
