package score

import (
	"math"
	"reflect"
)

// Reason says why a number is undefined.
type Reason struct {
	Name string // of the number, as in Metrics or Scores
	Text string // a clause for people: "one condition only"
}

// Numbers are Metrics or Scores: NaN is undefined, with a reason.
type Numbers interface {
	// Get returns the number of that name; it panics when there is none.
	Get(name string) float64
	// Reason returns why that number is undefined, "" when it is defined.
	Reason(name string) string
}

// Names returns the names of all numbers of Metrics or of Scores, in the order
// of the fields.
func Names[T Metrics | Scores]() []string {
	var out []string
	for f := range reflect.TypeFor[T]().Fields() {
		if name := f.Tag.Get("key"); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// scoresOf returns the names of the Scores that rest on what.
func scoresOf(what string) []string {
	var out []string
	for f := range reflect.TypeFor[Scores]().Fields() {
		if f.Tag.Get("of") == what {
			out = append(out, f.Tag.Get("key"))
		}
	}
	return out
}

// field returns the number of that name in m.
func field[T Metrics | Scores](m *T, name string) *float64 {
	for f, v := range reflect.ValueOf(m).Elem().Fields() {
		if f.Tag.Get("key") == name {
			return v.Addr().Interface().(*float64)
		}
	}
	panic("score: no number named " + name)
}

// undefine makes a number NaN and says why; the first reason stays.
func undefine[T Metrics | Scores](m *T, reasons *[]Reason, name, why string) {
	*field(m, name) = math.NaN()
	if find(*reasons, name) == "" {
		*reasons = append(*reasons, Reason{name, why})
	}
}

// undefineRest gives every number that is not finite a reason.
func undefineRest[T Metrics | Scores](m *T, reasons *[]Reason) {
	for _, n := range Names[T]() {
		if v := *field(m, n); math.IsNaN(v) || math.IsInf(v, 0) {
			undefine(m, reasons, n, "a value it is computed from is not finite")
		}
	}
}

func find(reasons []Reason, name string) string {
	for _, r := range reasons {
		if r.Name == name {
			return r.Text
		}
	}
	return ""
}

// Get returns the number of that name; it panics when there is none.
func (m Metrics) Get(name string) float64 { return *field(&m, name) }

// Reason returns why the number of that name is undefined, "" when it is defined.
func (m Metrics) Reason(name string) string { return find(m.Undefined, name) }

func (m *Metrics) undefine(name, why string) { undefine(m, &m.Undefined, name, why) }

// Get returns the number of that name; it panics when there is none.
func (s Scores) Get(name string) float64 { return *field(&s, name) }

// Reason returns why the number of that name is undefined, "" when it is defined.
func (s Scores) Reason(name string) string { return find(s.Undefined, name) }

func (s *Scores) undefine(name, why string) { undefine(s, &s.Undefined, name, why) }

// Stat is one number over seeds.
type Stat struct {
	Mean, Std float64 // over the seeds; Std is the sample deviation (n−1), NaN for one seed
	N         int     // seeds
	Undefined string  // why Mean is NaN
}

// OverSeeds returns the number of that name over the seeds of a split. It is
// undefined as soon as it is in one of them.
func OverSeeds[T Numbers](seeds []T, name string) Stat {
	v := make([]float64, len(seeds))
	s := Stat{N: len(seeds)}
	for i, m := range seeds {
		v[i] = m.Get(name)
		if s.Undefined == "" {
			s.Undefined = m.Reason(name)
		}
	}
	if len(seeds) == 0 {
		s.Undefined = "no seeds"
	}
	s.Mean, s.Std = MeanStd(v)
	return s
}
