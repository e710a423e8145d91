package arrays_test

import (
	"fmt"
	"log"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An array of 3 × 2 numbers whose first axis is time (Axis 0) has two channels. An attribute states the sampling
// period.
func Example() {
	r := arrays.New(ingest.Info{Path: "run.mat", Format: "mat"})
	r.Attribute("dt", "0.001")

	plane := ingesttest.NewMemory([]float64{1, 2, 3}, []float64{4, 5, 6})
	if err := r.Add(arrays.Array{Name: "p", Dims: []int64{3, 2}, Unit: "Pa", Plane: arrays.PlaneOf(plane)}); err != nil {
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

// A signal of Siemens Testlab, as scipy reads its struct: x_values.increment is the step in s, y_values.quantity.label
// the unit of the values, and function_record.name the name of the channel. A label of another struct is not a unit.
func TestSignalsOfTestlab(t *testing.T) {
	r := arrays.New(ingest.Info{Path: "run.mat", Format: "mat"})
	for _, attr := range [][2]string{
		{"Signal_0.x_values.increment", "0.001"},
		{"Signal_0.x_values.quantity.label", "s"},
		{"Signal_0.y_values.quantity.label", "Pa"},
		{"Signal_0.function_record.name", "Mic 1"},
		{"Signal_1.x_values.increment", "0.001"},
		{"Signal_1.y_values.quantity.label", "N"},
		{"Signal_1.function_record.name", "Force +Z"},
		{"other.quantity.label", "m"},
	} {
		r.Attribute(attr[0], attr[1])
	}

	for _, name := range []string{"Signal_0.y_values.values", "Signal_1.y_values.values", "other.values"} {
		plane := ingesttest.NewMemory([]float64{1, 2, 3})
		array := arrays.Array{Name: name, Group: strings.TrimSuffix(name, ".values"), Dims: []int64{3}}
		array.Plane = arrays.PlaneOf(plane)
		require.NoError(t, r.Add(array))
	}

	require.NoError(t, r.Finish(ingest.Options{}))
	info := r.Info()
	assert.Equal(t, "Pa", info.Channels[0].Unit)
	assert.Equal(t, "N", info.Channels[1].Unit)
	assert.Empty(t, info.Channels[2].Unit)
	assert.InDelta(t, 1000, info.Channels[0].RateHz, 1e-9)

	k, err := ingest.FindChannel(info, "force +z")
	require.NoError(t, err)
	assert.Equal(t, 1, k, "a channel is found by its name in Testlab")
}

// A warning names both of two rates that contradict each other: an attribute of a dataset and one of the file, a rate
// and the steps of a clock, and the increment of a waveform and a channel Time.
func TestContradictingRates(t *testing.T) {
	for _, c := range []struct{ own, file, name, want string }{
		{"fs", "fs", "x", "its own attribute gives 1000 for the sampling rate or period, its group or the file 500"},
		{"fs", "", "time", "a rate of 1000 Hz, the steps of channel time give 500 Hz"},
		{"wf_increment", "", "Time", "a rate of 1000 Hz, the steps of channel Time give 500 Hz"},
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
			a := arrays.Array{Name: name, Dims: []int64{4}, Plane: arrays.PlaneOf(ingesttest.NewMemory(x[i]))}
			if i == 0 && c.own != "" {
				a.Attributes = []ingest.Attribute{{Name: c.own, Value: value}}
			}

			require.NoError(t, r.Add(a))
		}

		require.NoError(t, r.Finish(ingest.Options{}))

		text := fmt.Sprint(r.Info().Warnings)
		if c.want == "" {
			assert.Equal(t, "[]", text, "%+v", c)
		} else {
			assert.Contains(t, text, c.want, "%+v", c)
		}
	}
}

// The indices in the names of channels count from 1, in the order of the axes in the file.
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
		require.NoError(t, err)
		require.NoError(t, r.Add(arrays.Array{Name: "x", Dims: c.dims, Axis: axis, ColumnMajor: c.columnMajor}))

		var names []string
		for _, ch := range r.Info().Channels {
			names = append(names, ch.Name)
		}

		assert.Equal(t, c.want, strings.Join(names, " "), "%v", c.dims)
	}
}

// A file with too many channels is refused before they are allocated.
func TestTooManyChannels(t *testing.T) {
	for _, dims := range [][]int64{{1 << 40, 1 << 20}, {1 << 40, 1 << 30, 1 << 30}, {1 << 20, 1<<16 + 1}} {
		err := arrays.New(ingest.Info{}).Add(arrays.Array{Name: "x", Dims: dims})
		ingesttest.WantDataError(t, nil, err, "array x: expected at most 65536 channels in a file")
	}
}

// A file with integers of different types has no quantum.
func TestQuantum(t *testing.T) {
	r := arrays.New(ingest.Info{})
	for i, c := range []struct {
		kind string
		want float64
	}{{"int16", 1}, {"int16", 1}, {"uint8", 0}} {
		require.NoError(t, r.Add(arrays.Array{Name: fmt.Sprint(i), Dims: []int64{2}, Quantum: arrays.QuantumOf(c.kind)}))

		step, _, _ := r.Quantum()
		assert.Equal(t, c.want, step, "step after %s", c.kind)
	}

	assert.Equal(t, (arrays.Quantum{Step: 1, Low: -128, High: 127}), arrays.QuantumOf("int8"))
	assert.Equal(t, (arrays.Quantum{}), arrays.QuantumOf("float64"))
}
