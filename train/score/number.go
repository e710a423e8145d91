package score

import (
	"cmp"
	"math"
	"slices"
)

// Number is the value of one metric.
type Number struct {
	Key       string
	Value     float64 // NaN if it is undefined
	Undefined string  // reason why Value is NaN, in words: "one condition only"
}

// Numbers are the values of metrics, in the order of Metrics.
type Numbers []Number

// newNumbers returns zeros for the metrics that are computed from any of the inputs u.
func newNumbers(u Uses) Numbers {
	var list []Number
	for _, m := range MetricsOf(u) {
		list = append(list, Number{Key: m.Key})
	}

	return list
}

// find returns the number with a key. It panics if there is none.
func (n Numbers) find(key string) *Number {
	for i := range n {
		if n[i].Key == key {
			return &n[i]
		}
	}

	panic("score: no number named " + key)
}

// Get returns the value of the number with a key. It panics if there is none.
func (n Numbers) Get(key string) float64 { return n.find(key).Value }

// Reason returns the reason why the number with a key is undefined, and "" if it is defined. It panics if there is no
// such number.
func (n Numbers) Reason(key string) string { return n.find(key).Undefined }

// Undefined returns the numbers that are undefined.
func (n Numbers) Undefined() Numbers {
	return slices.DeleteFunc(slices.Clone(n), func(x Number) bool { return x.Undefined == "" })
}

// set stores the value of a number.
func (n Numbers) set(key string, v float64) { n.find(key).Value = v }

// undefine makes numbers NaN for a reason. A number that is undefined already keeps its reason.
func (n Numbers) undefine(why string, keys ...string) {
	for _, k := range keys {
		x := n.find(k)
		x.Value = math.NaN()
		x.Undefined = cmp.Or(x.Undefined, why)
	}
}

// undefineAll makes all numbers undefined.
func (n Numbers) undefineAll(why string) {
	for i := range n {
		n.undefine(why, n[i].Key)
	}
}

// undefineRest gives every number that is not finite a reason.
func (n Numbers) undefineRest() {
	for _, x := range n {
		if !isFinite(x.Value) {
			n.undefine("a value it is computed from is not finite", x.Key)
		}
	}
}
