package arrays_test

import (
	"fmt"
	"log"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/must"
)

// An array of two axes has a channel for each index of the shorter one; the
// sampling period is found among the attributes.
func Example() {
	r := arrays.New(ingest.Info{Path: "run.mat", Format: "mat"})
	r.Attribute("dt", "0.001")

	plane := ingesttest.NewMemory([]float64{1, 2, 3}, []float64{4, 5, 6})
	if err := r.Add(arrays.Array{Name: "p", Dims: []int64{3, 2}, Unit: "Pa", Plane: arrays.Of(plane)}); err != nil {
		log.Fatal(err)
	}

	if err := r.Finish(ingest.Options{}); err != nil {
		log.Fatal(err)
	}

	x := make([]float64, 2)
	_, err := r.Read([]int{1}, 1, [][]float64{x})

	for _, c := range r.Info().Channels {
		fmt.Println(c.Name, c.Unit, c.RateHz)
	}

	fmt.Println(x, err)
	// Output:
	// p[1] Pa 1000
	// p[2] Pa 1000
	// [5 6] <nil>
}

// Rates that contradict are warned of with both: a dataset's attribute and the file's, a rate and the steps of a
// time, and the increment of a waveform and a channel Time.
func TestContradictingRates(t *testing.T) {
	for _, c := range []struct{ own, file, name, want string }{
		{"fs", "fs", "x", "1000 for the sampling rate or period, its group or the file 500"},
		{"fs", "", "time", "a rate of 1000 Hz, the steps of channel time give 500 Hz"},
		{"wf_increment", "", "Time", "the steps of channel Time give 500 Hz"},
		{"fs", "", "x", ""},
		{"", "fs", "time", ""},
	} {
		r := arrays.New(ingest.Info{})
		if c.file != "" {
			r.Attribute(c.file, "0.5 kHz")
		}

		x := [][]float64{{1, 2, 3, 4}, {0, 2e-3, 4e-3, 6e-3}}
		value := map[string]string{"fs": "1,000 Hz", "wf_increment": "1 ms"}[c.own]
		for i, name := range []string{"F", c.name} {
			a := arrays.Array{Name: name, Dims: []int64{4}, Plane: arrays.Of(ingesttest.NewMemory(x[i]))}
			if i == 0 && c.own != "" {
				a.Attributes = []ingest.Attribute{{Name: c.own, Value: value}}
			}

			must.Do(t, r.Add(a))
		}

		must.Do(t, r.Finish(ingest.Options{}))

		text := fmt.Sprint(r.Info().Warnings)
		must.Not(t, !strings.Contains(text, c.want) || c.want == "" && text != "[]", "%+v: %s", c, text)
	}
}

// Names count from 1, the other axes in the file's order.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		dims        []int64
		axis        string
		columnMajor bool
		want        string
	}{
		{[]int64{5}, "", false, "x"},
		{[]int64{5, 1}, "", false, "x"},
		{[]int64{1, 5}, "", false, "x"},
		{[]int64{2, 5}, "", false, "x[1] x[2]"},
		{[]int64{5, 2, 2}, "", false, "x[1,1] x[1,2] x[2,1] x[2,2]"},
		{[]int64{5, 2, 2}, "", true, "x[1,1] x[2,1] x[1,2] x[2,2]"},
		{[]int64{2, 2}, "first", false, "x[1] x[2]"},
	} {
		r := arrays.New(ingest.Info{})

		axis := must.Get(arrays.Axes(c.dims, nil, 0, ingest.ArrayOptions{TimeAxis: c.axis}))(t)
		must.Do(t, r.Add(arrays.Array{Name: "x", Dims: c.dims, Axis: axis, ColumnMajor: c.columnMajor}))

		var names []string
		for _, ch := range r.Info().Channels {
			names = append(names, ch.Name)
		}

		must.Equal(t, strings.Join(names, " "), c.want, "%v", c.dims)
	}
}

// A file that claims more channels than may be is refused before they are made.
func TestTooManyChannels(t *testing.T) {
	for _, dims := range [][]int64{{1 << 40, 1 << 20}, {1 << 40, 1 << 30, 1 << 30}, {1 << 20, 1<<16 + 1}} {
		err := arrays.New(ingest.Info{}).Add(arrays.Array{Name: "x", Dims: dims})
		ingesttest.WantDataError(t, nil, err, "array x: expected at most 65536 channels in a file")
	}
}

// Integers of different types have no common step.
func TestQuantum(t *testing.T) {
	r := arrays.New(ingest.Info{})
	for i, c := range []struct {
		kind string
		want float64
	}{{"int16", 1}, {"int16", 1}, {"uint8", 0}} {
		must.Do(t, r.Add(arrays.Array{Name: fmt.Sprint(i), Dims: []int64{2}, Quantum: arrays.QuantumOf(c.kind)}))

		if step, _, _ := r.Quantum(); step != c.want {
			t.Errorf("after %s: step %g", c.kind, step)
		}
	}

	must.Equal(t, arrays.QuantumOf("int8"), (arrays.Quantum{Step: 1, Low: -128, High: 127}), "got")
	must.Equal(t, arrays.QuantumOf("float64"), (arrays.Quantum{}), "got")
}
