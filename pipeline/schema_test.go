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

// dependent are the bounds that other keys or the data decide, so that no schema can have them.
var dependent = map[string]string{
	"train.optimizer.batch":      "maximum",         // training rows
	"ingest.simulate.duration_s": "minimum maximum", // samples in all, and the campaign
	"ingest.simulate.rate_hz":    "minimum maximum", // the campaign
	"ingest.simulate.rpm":        "maximum",         // tip speed
	"ingest.simulate.blades":     "maximum",         // the rate
	"dsp.resolution_hz":          "minimum",         // the recordings' length
	"train.splits.<name>.blocks": "maximum",         // values measured
}

// A probe asks check for numbers of a key.
type probe struct {
	base, key, path string
	whole           bool
	legal, refused  []float64
}

// probes are the rows of the table of limits whose keys take a number.
func probes() []probe {
	kinds := map[string]string{}
	for _, k := range config.Keys() {
		kinds[k.Path] = strings.TrimSuffix(strings.TrimPrefix(k.Type, "list of "), "s")
	}

	var out []probe
	for i := 0; i < len(limits)*len(Stages()); i++ {
		l := limits[i/len(Stages())]

		key := strings.Replace(l.key, "STAGE", Stages()[i%len(Stages())], 1)
		if key == l.key && i%len(Stages()) > 0 {
			continue
		}

		path := "experiments.<name>." + strings.Replace(key, "splits.each.", "splits.<name>.", 1)
		if key == "version" || strings.HasPrefix(key, "executor") {
			path = key
		} else {
			key = "experiments.x." + key
		}

		p := probe{base: l.base, key: key, path: path, whole: kinds[path] == "whole number"}
		p.legal, p.refused = p.numbers(l.legal), p.numbers(l.refused)
		if len(p.legal) > 0 && (p.whole || kinds[path] == "number") {
			out = append(out, p)
		}
	}

	return out
}

// numbers are those of a list of values. If the key takes whole numbers, the others are left out.
func (p probe) numbers(list string) []float64 {
	var out []float64
	for _, f := range strings.Fields(list) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			continue // text
		}

		isWhole := v == math.Trunc(v) && math.Abs(v) <= 1<<53
		if isWhole || !p.whole {
			out = append(out, v)
		}
	}

	return out
}

func (p probe) taken(t *testing.T, dir string, v float64) bool {
	return loadWith(t, dir, p.base, p.key, strconv.FormatFloat(v, 'g', -1, 64)) == nil
}

// next is the neighbour of a number on one side.
func (p probe) next(v, side float64) float64 {
	if p.whole {
		return v + side
	}

	return math.Nextafter(v, math.Inf(int(side)))
}

// outside are the refused numbers on one side of all legal ones, the nearest first.
func (p probe) outside(side float64) (legal float64, beyond []float64) {
	legal = slices.MaxFunc(p.legal, func(a, b float64) int { return cmp.Compare(side*a, side*b) })
	for _, r := range p.refused {
		if side*r > side*legal {
			beyond = append(beyond, r)
		}
	}

	slices.SortFunc(beyond, func(a, b float64) int { return cmp.Compare(side*a, side*b) })
	if name := strings.TrimPrefix(p.path, "experiments.<name>."); strings.Contains(dependent[name], bound(side)) {
		beyond = nil
	}

	return legal, beyond
}

func bound(side float64) string {
	if side < 0 {
		return "minimum"
	}

	return "maximum"
}

// find returns the line of limits.txt for one side: the outermost number taken, or the
// innermost refused one if it is the shorter to write.
func (p probe) find(t *testing.T, dir string, side float64) string {
	in, beyond := p.outside(side)
	if len(beyond) == 0 {
		return ""
	}

	// Halves the numbers between, as the machine counts them: whole ones or all.
	order := func(f float64) int64 {
		if p.whole {
			return int64(f)
		}

		if i := int64(math.Float64bits(f)); i >= 0 {
			return i
		}
		return math.MinInt64 - int64(math.Float64bits(f))
	}
	number := func(i int64) float64 {
		switch {
		case p.whole:
			return float64(i)
		case i >= 0:
			return math.Float64frombits(uint64(i))
		}
		return math.Float64frombits(uint64(math.MinInt64 - i))
	}

	a := order(in)
	b := order(beyond[0])
	for max(a, b)-min(a, b) > 1 {
		if m := a + (b-a)/2; p.taken(t, dir, number(m)) {
			a = m
		} else {
			b = m
		}
	}

	word := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	if yes, no := number(a), number(b); p.whole || len(word(yes)) <= len(word(no)) {
		return fmt.Sprintf("%s %s %s\n", p.path, bound(side), word(yes))
	} else {
		return fmt.Sprintf("%s exclusive%s%s %s\n", p.path, strings.ToUpper(bound(side)[:1]), bound(side)[1:], word(no))
	}
}

// The schema's bounds are those of check: at each, check takes one number and refuses its neighbour; and every number
// that the table of limits says is too small or too large is outside of them. -update-limits asks check for them.
func TestSchemaLimits(t *testing.T) {
	dir := t.TempDir()
	limitData(t, dir)

	const file = "config/limits.txt"
	if *updateLimits {
		lines := map[string]bool{}
		for _, p := range probes() {
			lines[p.find(t, dir, -1)] = true
			lines[p.find(t, dir, 1)] = true
		}

		require.NoError(t, os.WriteFile(file, []byte(strings.Join(slices.Sorted(maps.Keys(lines)), "")), 0o644))
		return // the schema has it after the next build
	}

	asked := 0
	for _, p := range probes() {
		at := schemaAt(t, p.path)
		for _, side := range []float64{-1, 1} {
			_, beyond := p.outside(side)
			edge, inclusive := at[bound(side)].(float64)
			open, exclusive := at["exclusive"+strings.ToUpper(bound(side)[:1])+bound(side)[1:]].(float64)

			yes := edge
			no := p.next(edge, side)
			if exclusive {
				yes = p.next(open, -side)
				no = open
			}

			switch {
			case inclusive == exclusive:
				if len(beyond) > 0 {
					t.Errorf("%s: the schema has no single %s, and check refuses %g", p.path, bound(side), beyond[0])
				}

			case len(beyond) > 0:
				asked++
				assert.True(t, p.taken(t, dir, yes), "%s: %s: check takes %g", p.path, bound(side), yes)
				assert.False(t, p.taken(t, dir, no), "%s: %s: check takes %g", p.path, bound(side), no)
				assert.GreaterOrEqual(t, side*beyond[0], side*no, "%s: %s: the first refused number", p.path, bound(side))
			}
		}
	}

	assert.GreaterOrEqual(t, asked, 80, "only %d bounds were asked for", asked)
}

// schemaAt is the schema of the key of a path.
func schemaAt(t *testing.T, path string) map[string]any {
	t.Helper()

	s := config.Schema()
	for _, part := range strings.Split(path, ".") {
		for _, one := range append([]any{s}, list(s["oneOf"])...) {
			o := one.(map[string]any)
			if part == "<name>" && o["additionalProperties"] != nil {
				s = o["additionalProperties"].(map[string]any)
			} else if props, ok := o["properties"].(map[string]any); ok && props[part] != nil {
				s = props[part].(map[string]any)
			}
		}
	}

	require.NotNil(t, s["description"], "the schema has no %s", path)

	return s
}

func list(v any) []any {
	l, _ := v.([]any)

	return l
}
