// Package numbers writes numbers as JSON, which has no word for those that are not finite: they are
// null, and as text, to the digits of their deviation.
package numbers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"doubletake/internal/lists"
)

// Float is a number that is null where it is not finite.
type Float float64

// NaN is no number.
var NaN = Float(math.NaN())

// MarshalJSON writes the shortest form that reads back to the same bits, without a negative zero.
func (f Float) MarshalJSON() ([]byte, error) {
	if v := float64(f); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return json.Marshal(v + 0)
	}

	return []byte("null"), nil
}

// UnmarshalJSON reads a number; null is NaN.
func (f *Float) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*f = NaN
		return nil
	}

	return json.Unmarshal(b, (*float64)(f))
}

// Object is a JSON object whose members keep their order: keys, each followed by its value.
type Object []any

// Named are members of these names and values.
func Named(names []string, values []float64) (o Object) {
	for i, n := range names {
		o = append(o, n, values[i])
	}
	return o
}

// Objects returns the object of each element; it is not nil, so that without any its JSON is an empty list.
func Objects[T any](list []T, object func(T) Object) []Object {
	return append([]Object{}, lists.Each(list, object)...)
}

// All are the members.
func (o Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i := 0; i < len(o) && yield(o[i].(string), o[i+1]); i += 2 {
		}
	}
}

// MarshalJSON writes the members; floats that are not finite are null.
func (o Object) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for name, v := range o.All() {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		switch f := v.(type) {
		case float64:
			v = Float(f)
		case *float64:
			v = Float(*f)
		}

		value, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", key, err)
		}

		if b.Len() > 1 {
			b.WriteByte(',')
		}

		b.Write(append(append(key, ':'), value...))
	}

	b.WriteByte('}')

	return b.Bytes(), nil
}

// UnmarshalJSON reads members into their values, which are pointers or objects of pointers: the
// members that write an object read it too. A number that is missing is NaN.
func (o Object) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}

	for name, into := range o.All() {
		switch v := into.(type) {
		case *float64:
			*v, into = math.NaN(), (*Float)(v)
		case Object:
			into = &v
		}

		text, ok := members[name]
		if !ok {
			continue
		}

		if err := json.Unmarshal(text, into); err != nil {
			return fmt.Errorf("member %q: %w", name, err)
		}
	}

	return nil
}

// Harmless is a text of a CSV file that no spreadsheet takes for a formula.
func Harmless(s string) string {
	if _, err := strconv.ParseFloat(s, 64); err != nil && s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// Exponent is the decimal exponent of v once rounded to so many digits: 0.0996 to two
// digits is 0.10, so −1.
func Exponent(v float64, digits int) int {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}

	s := strconv.FormatFloat(v, 'e', digits-1, 64)
	e, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])

	return e
}

// Decimals is the number of decimals that shows so many digits of v; negative ones are
// tens, hundreds….
func Decimals(v float64, digits int) int { return digits - 1 - Exponent(v, digits) }

// Shift returns v·10^k, rounded once more than exact at most.
func Shift(v float64, k int) float64 {
	if k < 0 {
		return v / math.Pow10(-k)
	}
	return v * math.Pow10(k)
}

// Fixed writes v with so many decimals; negative ones round to tens, hundreds…. What
// rounds to zero has no sign. NaN is a dash.
func Fixed(v float64, decimals int) string {
	if math.IsNaN(v) {
		return "–"
	}

	if decimals < 0 {
		v = Shift(math.Round(Shift(v, decimals)), -decimals)
		decimals = 0
	}

	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}

	return s
}
