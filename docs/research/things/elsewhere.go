package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// table is a measured table of the collection Rdatasets (github.com/vincentarelbundock/Rdatasets) that has names of
// things or occasions, an input that varies within each name, and repeated measurements.
type table struct {
	path                 string // in the collection
	name, input, outcome string // columns
	isDose               bool   // whether the input spans decades, so that its logarithm enters
}

// collected are the tables of the packages datasets, nlme and drc with at least four names that have four values of an
// input or more, most of them measured repeatedly. They were chosen before any result.
var collected = []table{
	{"datasets/DNase.csv", "Run", "conc", "density", true},
	{"nlme/Assay.csv", "sample", "dilut", "logDens", false},
	{"nlme/Glucose2.csv", "Subject", "Time", "glucose", false},
	{"nlme/IGF.csv", "Lot", "age", "conc", false},
	{"nlme/Nitrendipene.csv", "Tissue", "log.NIF", "activity", false},
	{"nlme/Pixel.csv", "Dog", "day", "pixel", false},
	{"nlme/Relaxin.csv", "Run", "conc", "cAMP", true},
	{"nlme/Wafer.csv", "Wafer", "voltage", "current", false},
	{"drc/metals.csv", "metal", "conc", "BIF", true},
	{"drc/spinach.csv", "CURVE", "DOSE", "SLOPE", true},
}

// collection is the folder of the tables, or "" if they are not here.
func collection() string { return os.Getenv("DOUBLETAKE_RDATASETS") }

// read pairs repeated measurements of a name and a value of the input, in the order of the table. Measurements without
// a partner are left out.
func (d table) read() (campaign, error) {
	path := filepath.Join(collection(), filepath.FromSlash(d.path))
	lines, err := cells(path)
	if err != nil {
		return campaign{}, err
	}

	var x, y []float64
	least := math.Inf(1) // positive value of the input
	for i, line := range lines {
		v, err := number(line, d.input, d.outcome)
		if err != nil {
			return campaign{}, fmt.Errorf("%s, row %d: expected numbers in the columns %s and %s, found %q and %q: %w", path,
				i+2, d.input, d.outcome, line[d.input], line[d.outcome], err)
		}

		x, y = append(x, v[0]), append(y, v[1])
		if v[0] > 0 {
			least = min(least, v[0])
		}
	}

	var r rows
	first := map[string]int{} // by name and input: the row that has no partner yet
	for i, line := range lines {
		run := line[d.name] + " at " + line[d.input]
		k, waits := first[run]
		if !waits {
			first[run] = i
			continue
		}

		delete(first, run)
		value := x[i]
		if d.isDose {
			value = math.Log(value + least/2)
		}

		r.pair(line[d.name], run, []float64{value}, y[k:k+1], y[i:i+1])
	}

	return r.measured(path, []string{"x"}, []string{"y"})
}
