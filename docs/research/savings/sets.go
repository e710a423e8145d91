package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"doubletake/internal/kv"
)

// noiseShare is the deviation of a simulated measurement, in deviations of the law over the candidates.
const noiseShare = 0.02

// laws returns the simulated sets.
func laws() []set {
	return []set{
		simulated("wing", []string{"u_m_s", "alpha_deg", "flap_deg"}, wing,
			steps(12, 36, 9), steps(-4, 14, 11), steps(0, 30, 5)),
		simulated("propeller", []string{"n_rps", "j", "pitch_ratio"}, propeller,
			steps(50, 110, 3), steps(0, 0.72, 19), steps(0.5, 0.9, 5)),
		simulated("cavity", []string{"u_m_s", "length_m"}, cavity, steps(10, 50, 21), steps(0.1, 0.3, 15)),
		simulated("cylinders", []string{"u_m_s", "gap"}, cylinders, steps(8, 28, 11), steps(1.2, 6.2, 21)),
	}
}

// wing returns the lift of a wing with a flap that stalls.
func wing(x []float64) float64 {
	u, a, f := x[0], x[1], x[2]
	stall := 1 / (1 + math.Exp(-(a-10-0.1*(u-20)+0.15*f)/1.2))

	return (0.095*(a+1.5) + 0.022*f - 0.00012*f*f) * (1 + 0.04*math.Log(u/20)) * (1 - 0.3*stall)
}

// propeller returns the thrust of a propeller over its advance ratio.
func propeller(x []float64) float64 {
	n, j, p := x[0], x[1], x[2]
	a := p/math.Pi/0.75 - j

	return 0.11*a/(0.2+math.Abs(a))*(1+0.05*math.Log(n/60)) - 0.02*j*j*(p-0.6)
}

// cavity returns the level of the tones of a cavity in dB: it rises with the speed, and two modes resonate.
func cavity(x []float64) float64 {
	u, length := x[0], x[1]
	strouhal := 45 * length / u
	tone := func(s float64) float64 { return math.Exp(-math.Pow((strouhal-s)/0.12, 2)) }

	return 60*math.Log10(u/20) + 12*tone(0.5) + 8*tone(1)
}

// cylinders returns the drag of the second of two cylinders one behind the other: it jumps at a gap that depends on the
// speed.
func cylinders(x []float64) float64 {
	u, gap := x[0], x[1]
	critical := 3.6 - 0.4*math.Log(u/15)
	free := 1 / (1 + math.Exp(-(gap-critical)/0.12))

	return -0.3 + 0.15*math.Sqrt(gap) + free*(0.45+0.1*math.Log(u/15)) - 0.1*math.Exp(-gap)
}

// steps returns n values from low to high.
func steps(low, high float64, n int) []float64 {
	var list []float64
	for k := range n {
		list = append(list, low+(high-low)*float64(k)/float64(n-1))
	}

	return list
}

// simulated returns the set of a law at all combinations of values.
func simulated(name string, inputs []string, law func(x []float64) float64, values ...[]float64) set {
	s := set{name: name, data: "simulated", inputs: inputs, x: kv.Points(values...)}
	for _, x := range s.x {
		s.truth = append(s.truth, law(x))
	}

	s.spread = deviation(s.truth)
	s.noise = noiseShare * s.spread

	return s
}

// deviation returns the standard deviation of some numbers.
func deviation(v []float64) float64 {
	mean := 0.0
	for _, y := range v {
		mean += y / float64(len(v))
	}

	sum := 0.0
	for _, y := range v {
		sum += (y - mean) * (y - mean)
	}

	return math.Sqrt(sum / float64(len(v)))
}

// table is a measured example.
type table struct {
	name   string
	file   string
	inputs []string // the first is the condition of the groups
	y1, y2 string   // columns of the pair; the same: each condition has two rows
}

// tables are the measured sets.
var tables = []table{
	{"turbine", "rm2-turbine/runs.csv", []string{"tow_speed_m_s", "tsr"}, "cp", "cp"},
	{"propellers", "propeller-stand/pairs.csv", []string{"blades", "pitch_in", "rpm"}, "kt_1", "kt_2"},
}

// read returns the set of a table. Of several pairs at a condition the first is taken.
func (t table) read(examples string) (set, error) {
	f, err := os.Open(filepath.Join(examples, t.file))
	if err != nil {
		return set{}, fmt.Errorf("open %s: %w", t.name, err)
	}
	defer f.Close()

	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return set{}, fmt.Errorf("read %s: %w", t.name, err)
	}

	s := set{name: t.name, data: "measured", inputs: t.inputs}
	var columns []int
	for _, name := range append(slices.Clone(t.inputs), t.y1, t.y2) {
		column := -1
		if len(rows) > 0 {
			column = slices.Index(rows[0], name)
		}

		if column < 0 {
			return set{}, fmt.Errorf("read %s: expected a column %s in %s, found none", t.name, name, t.file)
		}

		columns = append(columns, column)
	}

	for _, row := range rows[1:] {
		var v []float64
		for _, c := range columns {
			number, err := strconv.ParseFloat(row[c], 64)
			if err != nil {
				return set{}, fmt.Errorf("read %s: %w", t.name, err)
			}

			v = append(v, number)
		}

		s.add(v[:len(t.inputs)], v[len(t.inputs)], v[len(t.inputs)+1], t.y1 == t.y2)
	}

	for i := range s.x {
		s.truth = append(s.truth, (s.y1[i]+s.y2[i])/2)
	}

	s.spread = deviation(s.truth)

	return s, nil
}

// add adds a measured pair, or, if each row is one measurement, the first or the second of a pair.
func (s *set) add(x []float64, y1, y2 float64, single bool) {
	k := slices.IndexFunc(s.x, func(at []float64) bool { return slices.Equal(at, x) })
	if k < 0 {
		s.x = append(s.x, x)
		s.y1 = append(s.y1, y1)
		s.y2 = append(s.y2, y2)
	} else if single {
		s.y2[k] = y2
	}
}
