package arrays_test

import (
	"fmt"
	"log"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/ingesttest"
)

// An array of two axes has a channel for each index of the shorter one; the
// sampling period is found among the attributes.
func Example() {
	r := arrays.New(ingest.Info{Path: "run.mat", Format: "mat"})
	r.Attribute("dt", "0.001")

	plane := ingesttest.NewMemory([]float64{1, 2, 3}, []float64{4, 5, 6})
	if err := r.Add(arrays.Array{Name: "p", Dims: []int64{3, 2}, Unit: "Pa", Plane: plane}); err != nil {
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

		axis, err := arrays.Axes(c.dims, nil, 0, ingest.ArrayOptions{TimeAxis: c.axis})
		if err != nil {
			t.Fatal(err)
		}

		if err := r.Add(arrays.Array{Name: "x", Dims: c.dims, Axis: axis, ColumnMajor: c.columnMajor}); err != nil {
			t.Fatal(err)
		}

		var names []string
		for _, ch := range r.Info().Channels {
			names = append(names, ch.Name)
		}

		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: %s, expected %s", c.dims, got, c.want)
		}
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
		if err := r.Add(arrays.Array{Name: fmt.Sprint(i), Dims: []int64{2}, Quantum: arrays.QuantumOf(c.kind)}); err != nil {
			t.Fatal(err)
		}

		if step, _, _ := r.Quantum(); step != c.want {
			t.Errorf("after %s: step %g", c.kind, step)
		}
	}

	if q := arrays.QuantumOf("int8"); q != (arrays.Quantum{Step: 1, Low: -128, High: 127}) {
		t.Error(q)
	}

	if q := arrays.QuantumOf("float64"); q != (arrays.Quantum{}) {
		t.Error(q)
	}
}
