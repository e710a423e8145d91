package dsp

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/must"
)

// Every construction names itself and only settings that exist, passes with the
// defaults, and is found by name and kind.
func TestConstructions(t *testing.T) {
	var keys []string

	st := reflect.TypeFor[Settings]()
	for i := range st.NumField() {
		keys = append(keys, st.Field(i).Tag.Get("key"))
	}

	s := DefaultSettings()
	CheckSettings(&s, func(key, format string, args ...any) {
		t.Errorf("the default of %s is refused: "+format, append([]any{key}, args...)...)
	})

	for _, c := range constructions {
		d := c.Describe()

		_, series := c.(OfSeries)
		if _, spectra := c.(OfSpectra); spectra == series {
			t.Errorf("%s takes spectra and series, or neither", d.Name)
		}

		must.Not(t, Find(d.Name, series) != c || d.Name == "" || !strings.HasPrefix(d.Doc, "y1 and y2 "), "%s: %+v", d.Name,
			d)

		for _, k := range d.Settings {
			must.Not(t, !slices.Contains(keys, k), "%s reads %q, which is no setting", d.Name, k)
		}
	}

	for _, name := range Outcomes()[:len(spectralOutcomes)] {
		s.Outcomes = []string{name}
		CheckOutcomes("split-half-spectrum", false, &s, func(key, format string, args ...any) {
			t.Errorf("%s is refused: "+format, append([]any{name}, args...)...)
		})

		for _, k := range Configure(Find("split-half-spectrum", false), &s).Describe().Settings {
			must.Not(t, !slices.Contains(keys, k), "outcome %s reads %q, which is no setting", name, k)
		}
	}

	must.Not(t, Find("none", true) != nil || Find("split-halves", false) == nil,
		"found by another name, or not where there is one kind only")
}
