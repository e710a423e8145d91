package score

import (
	"cmp"

	"doubletake/train/numbers"
)

// Value is one metric over the seeds of a split. The zero Value means that it was not computed.
type Value struct {
	Mean      float64 // NaN if it is undefined
	Std       float64 // sample standard deviation over the seeds (with n−1); NaN for one seed
	N         int     // number of seeds
	Undefined string  // reason why Mean is NaN, in words: "one condition only"
}

// Absent reports whether the value was never set.
func (v Value) Absent() bool { return v == Value{} }

// Defined reports whether the value has a finite mean.
func (v Value) Defined() bool {
	return !v.Absent() && v.Undefined == "" && isFinite(v.Mean)
}

// Reason returns the reason why the value is undefined, and "" if it is defined.
func (v Value) Reason() string {
	switch {
	case v.Defined():
		return ""
	case v.Undefined != "":
		return v.Undefined
	case v.Absent():
		return "not computed"
	}

	return "not a finite number"
}

// MarshalJSON writes an undefined value as null, with the reason.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Defined() {
		return numbers.Object{"mean", nil, "std", nil, "n", v.N, "undefined", v.Reason()}.MarshalJSON()
	}
	return numbers.Object{"mean", v.Mean, "std", v.Std, "n", v.N}.MarshalJSON()
}

// UnmarshalJSON reads an object that MarshalJSON wrote.
func (v *Value) UnmarshalJSON(b []byte) error {
	return numbers.Object{"mean", &v.Mean, "std", &v.Std, "n", &v.N, "undefined", &v.Undefined}.UnmarshalJSON(b)
}

// Keyed is a value with the key of its metric.
type Keyed struct {
	Key string
	Value
}

// Values are metrics over the seeds of a split, in the order of Metrics.
type Values []Keyed

// Get returns the value with a key, or the zero Value if there is none.
func (v Values) Get(key string) Value {
	for _, k := range v {
		if k.Key == key {
			return k.Value
		}
	}

	return Value{}
}

// OverSeeds averages the numbers of the seeds of a split. A value is undefined if the number of any seed is undefined.
// OverSeeds returns nil without seeds.
func OverSeeds(seeds []Numbers) Values {
	if len(seeds) == 0 {
		return nil
	}

	var list []Keyed
	for _, x := range seeds[0] {
		values := make([]float64, len(seeds))
		reasons := make([]string, len(seeds))
		for i, n := range seeds {
			values[i] = n.Get(x.Key)
			reasons[i] = n.Reason(x.Key)
		}

		k := Keyed{x.Key, Mean(values)}
		k.Undefined = cmp.Or(reasons...)

		list = append(list, k)
	}

	return list
}

// Mean returns the mean of the seeds' values with its sample standard deviation.
func Mean(v []float64) Value {
	m, std := MeanStd(v)
	return Value{Mean: m, Std: std, N: len(v)}
}
