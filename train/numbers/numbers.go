// Package numbers writes numbers as JSON and as text. JSON has no word for numbers that are not finite:
// they become null.
package numbers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
)

// Float is a number whose JSON is null if it is not finite.
type Float float64

// NaN is an undefined number, null in JSON.
var NaN = Float(math.NaN())

// MarshalJSON returns the shortest text that reads back as the same bits. −0 becomes 0.
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

// Object is a JSON object whose members keep their order. Its elements are the names of the members, strings,
// each followed by the value.
type Object []any

// Named returns an object with these names and values. It panics if there are fewer values than names.
func Named(names []string, values []float64) (o Object) {
	for i, n := range names {
		o = append(o, n, values[i])
	}
	return o
}

// Objects returns the object of each element of a list. The result is never nil, so that the JSON of an empty list is
// [].
func Objects[T any](list []T, object func(T) Object) []Object {
	objects := make([]Object, 0, len(list))
	for _, element := range list {
		objects = append(objects, object(element))
	}

	return objects
}

// All returns the members in order: names and values.
func (o Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i := 0; i < len(o); i += 2 {
			if !yield(o[i].(string), o[i+1]) {
				return
			}
		}
	}
}

// MarshalJSON returns the members in order. Values that are float64 or *float64 become null if they are not finite.
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

		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}

	b.WriteByte('}')

	return b.Bytes(), nil
}

// UnmarshalJSON reads the members of o from a JSON object. The values in o must be pointers, or objects of pointers:
// UnmarshalJSON sets what they point to. A *float64 whose member is missing becomes NaN. Other missing members keep
// their values, and members that o does not have are ignored.
func (o Object) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}

	for name, target := range o.All() {
		switch v := target.(type) {
		case *float64:
			*v = math.NaN()
			target = (*Float)(v)
		case Object:
			target = &v
		}

		text, ok := members[name]
		if !ok {
			continue
		}

		if err := json.Unmarshal(text, target); err != nil {
			return fmt.Errorf("member %q: %w", name, err)
		}
	}

	return nil
}

// Harmless returns s as a cell of a CSV file. If a spreadsheet would take s for a formula, Harmless puts an apostrophe
// before it.
func Harmless(s string) string {
	_, err := strconv.ParseFloat(s, 64)
	isNumber := err == nil
	startsFormula := s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0]))
	if startsFormula && !isNumber {
		return "'" + s
	}

	return s
}

// Exponent returns the decimal exponent of v after rounding to a number of digits. 0.0996 rounded to two digits is
// 0.10, so that its exponent is −1. The exponent of 0, NaN and infinities is 0.
func Exponent(v float64, digits int) int {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}

	s := strconv.FormatFloat(v, 'e', digits-1, 64)
	e, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:]) // FormatFloat always writes a number there

	return e
}

// Decimals returns the number of decimals to which v must be rounded to show a number of digits. −1 means tens, −2
// hundreds.
func Decimals(v float64, digits int) int { return digits - 1 - Exponent(v, digits) }

// Shift returns v·10^k. It uses a power of ten with a positive exponent, which is exact up to 10²².
func Shift(v float64, k int) float64 {
	if k < 0 {
		return v / math.Pow10(-k)
	}
	return v * math.Pow10(k)
}

// Fixed returns v with a number of decimals. −1 decimals round to tens, −2 to hundreds. A number that rounds to 0
// has no sign. NaN is a dash, and infinities are +Inf and -Inf.
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
