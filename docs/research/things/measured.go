package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// real is a folder of the measured campaigns that do not come with the program.
func real(parts ...string) string {
	root := os.Getenv("DOUBLETAKE_REAL")
	if root == "" {
		root = "../../../shared/real"
	}

	return filepath.Join(append([]string{root}, parts...)...)
}

// measured holds out each name of measured campaigns in turn.
func measured() error {
	for _, m := range []struct {
		name string
		read func() (campaign, error)
		more bool // a label more
	}{
		{"Princeton, sessions", princeton, false},
		{"Cyclone, files", cyclone, false},
		{"turbine, tow speeds as names", turbine, false},
		{"stand, propellers", standByName, false},
		{"stand, motors", standByMotor, true},
	} {
		c, err := m.read()
		if err != nil {
			return fmt.Errorf("read %s: %w", m.name, err)
		}

		list := eachHeldOut(c)

		fmt.Printf("%s: %d rows, %d names\n", m.name, c.N, len(list))
		variants := []variant{byName("without", 0), byName("with things", 1)}
		if m.more {
			variants = append(variants, byName("and "+c.more[0].Name, 2))
		}

		if err := compare(m.name, list, variants...); err != nil {
			return err
		}
	}

	return nil
}

// eachHeldOut holds out each name of a campaign in turn.
func eachHeldOut(c campaign) (list []campaign) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(c.thing))) {
		one := c
		one.Part = make([]triplets.Part, c.N)
		for i, t := range c.thing {
			if one.Part[i] = triplets.Train; t == name {
				one.Part[i] = triplets.Test
			}
		}

		list = append(list, one)
	}

	return list
}

// cells reads a table with a header.
func cells(path string) (rows []map[string]string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	all, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(b), "\ufeff"))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	for i := 1; i < len(all); i++ {
		row := map[string]string{}
		for k, name := range all[0] {
			row[name] = all[i][k]
		}

		rows = append(rows, row)
	}

	return rows, nil
}

func number(row map[string]string, names ...string) (v []float64, err error) {
	for _, name := range names {
		x, e := strconv.ParseFloat(strings.TrimSpace(row[name]), 64)
		v, err = append(v, x), errors.Join(err, e)
	}
	return v, err
}

// pair adds a pair of measured values.
func (r *rows) pair(thing, run string, x, y1, y2 []float64) {
	r.x, r.y1, r.y2 = append(r.x, x...), append(r.y1, y1...), append(r.y2, y2...)
	r.c.thing, r.c.run, r.part = append(r.c.thing, thing), append(r.c.run, run), append(r.part, triplets.Train)
}

// measured is the campaign of the rows that were read from a folder or file. No rows are an error.
func (r *rows) measured(source string, inputs, outcomes []string) (campaign, error) {
	if len(r.part) == 0 {
		return campaign{}, fmt.Errorf("%s: expected pairs of measurements, found none", source)
	}

	return r.campaign(inputs, outcomes), nil
}

// standByName has two motors at one speed as a pair, and eight propellers.
func standByName() (campaign, error) {
	const path = "../../examples/propeller-stand/pairs.csv"
	table, err := cells(path)
	if err != nil {
		return campaign{}, err
	}

	var r rows
	for _, row := range table {
		v, err := number(row, "blades", "pitch_in", "rpm", "kt_1", "kt_2")
		if err != nil {
			return campaign{}, fmt.Errorf("%s: %w", path, err)
		}

		r.pair(row["propeller"], row["run"], v[:3], v[3:4], v[4:5])
	}

	return r.measured(path, []string{"blades", "pitch_in", "rpm"}, []string{"kt"})
}

// standByMotor has one motor with one propeller at 7 and at 11 V as a pair, where speeds differ by at most 1 %, and 13
// motors; the propeller is a label more.
func standByMotor() (campaign, error) {
	blades := []float64{3, 3, 3, 2, 4, 2, 3, 3}
	pitch := []float64{4, 4.5, 4.5, 4, 4, 4.5, 4, 5.3}
	propeller := honest.Label{Name: "propeller"}
	var r rows
	for _, motor := range "abcdefghijklm" {
		for p := range blades {
			var points [2][][]float64 // speed and coefficient
			for k, volt := range []string{"7", "11"} {
				table, err := cells(real("strawson-propeller-stand", "rawdata", fmt.Sprintf("%c%d_%s.csv", motor, p+1, volt)))
				if err != nil {
					return campaign{}, err
				}

				for _, row := range table {
					v, err := number(row, "Motor Electrical Speed (RPM)", "Thrust (gf)")
					if err == nil && v[0] > 3000 && v[1] > 0 {
						points[k] = append(points[k], []float64{v[0], v[1] / (v[0] / 1000) / (v[0] / 1000)})
					}
				}
			}

			for _, a := range points[0] {
				for _, b := range points[1] {
					if math.Abs(a[0]-b[0]) <= 0.01*a[0] {
						run := fmt.Sprintf("%c%d", motor, p+1)
						r.pair(string(motor), run, []float64{blades[p], pitch[p], (a[0] + b[0]) / 2}, a[1:], b[1:])
						propeller.Names = append(propeller.Names, fmt.Sprint(p+1))

						break
					}
				}
			}
		}
	}

	r.c.more = []honest.Label{propeller}

	return r.measured(real("strawson-propeller-stand"), []string{"blades", "pitch_in", "rpm"}, []string{"kt"})
}

// turbine has two tows of a speed and a tip-speed ratio as a pair.
func turbine() (campaign, error) {
	var r rows
	for _, speed := range []string{"0.4", "0.6", "0.8", "1.0", "1.2"} {
		first, err := cells(real("unh-rm2-turbine", "Perf-"+speed+".csv"))
		if err != nil {
			return campaign{}, err
		}

		second, err := cells(real("unh-rm2-turbine", "Perf-"+speed+"-b.csv"))
		if err != nil {
			return campaign{}, err
		}

		for _, a := range first {
			for _, b := range second {
				if a["tsr_nom"] != b["tsr_nom"] {
					continue
				}

				v, e1 := number(a, "tow_speed_nom", "tsr_nom", "mean_cp", "mean_cd")
				w, e2 := number(b, "mean_cp", "mean_cd")
				if err := errors.Join(e1, e2); err != nil {
					return campaign{}, err
				}

				r.pair(speed, speed+a["tsr_nom"], []float64{math.Log(v[0]), v[1]}, v[2:], w)

				break
			}
		}
	}

	return r.measured(real("unh-rm2-turbine"), []string{"ln_speed", "tsr"}, []string{"cp", "cd"})
}

// princeton has halves of a recording as a pair, over angle and speed, in three sessions.
func princeton() (campaign, error) {
	var r rows
	angle := regexp.MustCompile(`angle(\d+)\.txt$`)
	for _, s := range []struct {
		folder string
		speed  float64
	}{{"Speed1", 4.5}, {"Speed1R", 4.5}, {"Speed2", 5.5}} {
		files, err := filepath.Glob(real("princeton-mae224-lift-drag", s.folder, "angle*.txt"))
		if err != nil {
			return campaign{}, err
		}

		for _, path := range files {
			at := angle.FindStringSubmatch(path)
			if at == nil {
				continue
			}

			v, err := columnsOf(path, 2)
			if err != nil {
				return campaign{}, err
			}

			if len(v[0]) < 20 {
				continue
			}

			y1, y2 := halves(v, 0, len(v[0]))
			a, _ := strconv.ParseFloat(at[1], 64)
			r.pair(s.folder, s.folder+at[1], []float64{a, math.Log(s.speed)}, y1, y2)
		}
	}

	return r.measured(real("princeton-mae224-lift-drag"), []string{"angle_deg", "ln_speed"}, []string{"lift", "drag"})
}

// columnsOf reads the first columns of the lines that begin with numbers.
func columnsOf(path string, count int) ([][]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	out := make([][]float64, count)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		c := strings.Fields(lines.Text())
		var v []float64
		for k := 0; k < min(count, len(c)); k++ {
			if x, err := strconv.ParseFloat(c[k], 64); err == nil {
				v = append(v, x)
			}
		}

		if len(v) == count {
			for k, x := range v {
				out[k] = append(out[k], x)
			}
		}
	}

	return out, lines.Err()
}

// halves are the means of columns over both halves of some rows.
func halves(v [][]float64, from, to int) (y1, y2 []float64) {
	half := from + (to-from)/2
	for _, c := range v {
		y1, y2 = append(y1, stat.Mean(c[from:half], nil)), append(y2, stat.Mean(c[half:to], nil))
	}

	return y1, y2
}

// balance turns voltages into the force along x, that along z and the moment about y, as the source has it.
var balance = [3][6]float64{
	{0.10573, -0.04946, -0.03339, 6.31374, -0.04072, -6.35659},
	{10.12504, 0.21548, 10.10169, 0.36926, 10.57529, 0.28278},
	{-0.17046, -0.00215, 0.08486, -0.03049, 0.08772, 0.03596},
}

// cyclone has halves of a condition as a pair, without the gravity of a polar without wind, in three files of one speed
// each.
func cyclone() (campaign, error) {
	const folder = "cyclone-ojf-force-balance"
	loads := func(name string) (force [][]float64, angle []float64, err error) {
		path := real(folder, name)
		v, err := columnsOf(path, 13)
		if err != nil {
			return nil, nil, err
		}

		if len(v[12]) == 0 {
			return nil, nil, fmt.Errorf("%s: expected lines of 13 numbers, found none", path)
		}

		force = make([][]float64, 3)
		for i := range v[12] {
			for k, row := range balance {
				sum := 0.0
				for j, w := range row {
					sum += w * v[1+j][i]
				}

				force[k] = append(force[k], sum)
			}
		}

		return force, v[12], nil
	}

	zero, at, err := loads("17_11_17__14_21.txt")
	if err != nil {
		return campaign{}, err
	}

	design := func(a float64) []float64 { return []float64{1, math.Cos(a), math.Sin(a)} }
	h := mat.NewDense(len(at), 3, nil)
	for i, a := range at {
		h.SetRow(i, design(a))
	}

	tare := make([]mat.VecDense, 3)
	for k := range tare {
		if err := tare[k].SolveVec(h, mat.NewVecDense(len(at), zero[k])); err != nil {
			return campaign{}, err
		}
	}

	table, err := cells(real(folder, "conditions.csv"))
	if err != nil {
		return campaign{}, err
	}

	var r rows
	read := map[string][][]float64{}
	for _, row := range table {
		name := row["file"]
		if strings.Contains(name, "14_21") || strings.Contains(name, "15_31") {
			continue
		}

		if read[name] == nil {
			force, angle, err := loads(name)
			if err != nil {
				return campaign{}, err
			}

			for i, a := range angle {
				for k := range force {
					force[k][i] -= mat.Dot(&tare[k], mat.NewVecDense(3, design(a)))
				}
			}

			read[name] = force
		}

		v, err := number(row, "U_from_sensor_mps", "arm_angle_deg", "servo1_us", "servo2_us", "row0", "row1")
		if err != nil {
			return campaign{}, err
		}

		from, to, samples := int(v[4]), int(v[5]), len(read[name][0])
		if from < 0 || to > samples || to-from < 2 {
			return campaign{}, fmt.Errorf("conditions.csv: expected two or more of the %d samples of %s, found rows %d to %d",
				samples, name, from, to)
		}

		y1, y2 := halves(read[name], from, to)
		r.pair(name, fmt.Sprint(name, len(r.part)), []float64{math.Log(v[0]), v[1], v[2], v[3]}, y1, y2)
	}

	inputs := []string{"ln_speed", "arm_deg", "servo1_us", "servo2_us"}

	return r.measured(real(folder), inputs, []string{"fx", "fz", "my"})
}
