package condition

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A number in a cell as people and spreadsheets write it. Expected: what the writer means, by hand. A number that has
// two readings is written as the reading with a decimal point, a bar, and the reading with a decimal comma.
func TestRead(t *testing.T) {
	for i, c := range []struct{ cell, want string }{
		{"5", "5"},
		{" 5 ", "5"},
		{"+5", "5"},
		{"-5", "-5"},
		{"- 5", "-5"},
		{"−5", "-5"},
		{"–5", "-5"},
		{"5.", "5"},
		{".5", "0.5"},
		{",5", "0.5"},
		{"1.5", "1.5"},
		{"1,5", "1.5"},
		{"0,125", "0.125"},
		{"1.2345", "1.2345"},
		{"1e3", "1000"},
		{"1E+03", "1000"},
		{"1.5D+03", "1500"},
		{"2,5e5", "250000"},
		{"1.5×10^5", "150000"},
		{"1.5·10⁵", "150000"},
		{"2 x 10^-3", "0.002"},
		{"2×10⁻³", "0.002"},
		{"1,234", "1234|1.234"},
		{"1.234", "1.234|1234"},
		{"-1,200", "-1200|-1.2"},
		{"1,234,567", "1.234567e+06"},
		{"1.234.567", "1.234567e+06"},
		{"1,234.5", "1234.5"},
		{"1.234,5", "1234.5"},
		{"1'234", "1234"},
		{"1’234,5", "1234.5"},
		{"1 234", "1234"},
		{"1\u00a0234\u00a0567", "1.234567e+06"},
		{"1\u202f234,5", "1234.5"},
		{"1\u2009234", "1234"},
		{"1\u2009234\u2009567 rpm", "1.234567e+06 rpm"},
		{"-1\u2007234\u202f°", "-1234 °"},
		{"'5", "5"},
		{"5°", "5 °"},
		{"5 °", "5 °"},
		{"-5 deg", "-5 deg"},
		{"50 %", "50 %"},
		{"50%", "50 %"},
		{"12 m/s", "12 m/s"},
		{"12m/s", "12 m/s"},
		{"1 200 rpm", "1200 rpm"},
		{"1,200 rpm", "1200|1.2 rpm"},
		{"101,3 kPa", "101.3 kPa"},
		{"20 °C", "20 °C"},
		{"20 [°C]", "20 °C"},
		{"20 (deg)", "20 deg"},
		{"94 dB", "94 dB"},
		{"1000 1/min", "1000 1/min"},
		{"5 ± 0.1", "5"},
		{"5±0,1 °", "5 °"},
		{"(5 ± 0.1) mm", "5 mm"},
		{"5 +/- 0.2", "5"},
		{"1.2e5 ± 3e2 Pa", "120000 Pa"},
		{"100k", "100000"},
		{"2.5 k", "2500"},
		{"1e3k", "name, begins"},
		{"", "none"},
		{" ", "none"},
		{"-", "none"},
		{"—", "none"},
		{"N/A", "none"},
		{"#NV", "none"},
		{"k.A.", "none"},
		{"NaN", "none"},
		{"?", "none"},
		{"12.03.2026", "date"},
		{"2026-03-12", "date"},
		{"2026-03-12 10:30", "date"},
		{"2026-03-12T10:30:00Z", "date"},
		{"11/23/2026 09:10", "date"},
		{"3/4/26", "date"},
		{"05. Mrz", "date"},
		{"5-Jan", "date"},
		{"Jan 05", "date"},
		{"12-Mar-2026", "date"},
		{"10:30", "date"},
		{"9:05:01 AM", "date"},
		{"8x6", "name, begins"},
		{"8x10", "name, begins"},
		{"10x5 APC", "name, begins"},
		{"3-bladed", "name, begins"},
		{"1/2", "name, begins"},
		{"1,23,45", "name, begins"},
		{"5 foo", "name, begins"},
		{"APC 8x6", "name"},
		{"NACA 0012", "name"},
		{"zwei", "name"},
		{"5-Janus", "name, begins"},
		{"Mon", "name"},
		{"±5", "name"},
		{"[5]", "name, begins"},
		{"<5", "name, begins"},
		{"~ 5", "name, begins"},
		{"－１２．５", "-12.5"},
		{"3000 U/min", "3000 U/min"},
		{"12 mps", "12 mps"},
	} {
		got := "none"
		switch r := Read(c.cell); r.Form {
		case Date:
			got = "date"
		case Name:
			got = "name"
			if r.beginsWithNumber {
				got = "name, begins"
			}
		case Number:
			p, okP := r.Value(Point)
			q, okQ := r.Value(Comma)
			switch {
			case okP && okQ && p != q:
				got = fmt.Sprintf("%v|%v", p, q)
			case okP:
				got = fmt.Sprint(p)
			case okQ:
				got = fmt.Sprint(q)
			}

			got = strings.TrimSpace(got + " " + r.Unit)
		}

		assert.Equal(t, c.want, got, "%d: %q is", i, c.cell)
	}

	r := Read("-999", "-999")
	assert.Equal(t, Missing, r.Form)
}

// A column decides what a cell leaves open. cells are parted by semicolons. want has the values and their unit, "names"
// for a column of names, or the error; behind it comes each doubt with the index of its row. Expected: by hand.
func TestReadColumn(t *testing.T) {
	for _, c := range []struct {
		name, cells, want string
		o                 ColumnOptions
	}{
		{name: "points", cells: "1;1.205;2", want: "[1 1.205 2]"},
		{name: "commas", cells: "1;1,205;2,5", want: "[1 1.205 2.5]"},
		{name: "thousands", cells: "900;1,200;1,500.5", want: "[900 1200 1500.5] thousands in 1"},
		{name: "thousands beyond doubt", cells: "900;1,200,000;1,500", want: "[900 1.2e+06 1500] thousands in 2"},
		{name: "German thousands", cells: "900,5;1.200", want: "[900.5 1200] thousands in 1"},
		{name: "thousands with points", cells: "900;1.200;1.500", want: `row 2: expected a number that can be read in one ` +
			`way, found "1.200", which is 1200 or 1.2, and no other cell shows which`},
		{name: "three decimals", cells: "1.205;1.200", want: "[1.205 1.2]"},
		{name: "few turns", cells: "4.000;6.500", o: ColumnOptions{Unit: "U/min"}, want: `row 1: expected a number that ` +
			`can be read in one way, found "4.000", which is 4000 or 4, and no other cell shows which`},
		{name: "thirds", cells: "100;33.333", want: "[100 33.333]"},
		{name: "a code", cells: "1;2;-9999;3", want: "[1 2 -9999 3] missing-code in 2"},
		{name: "no code", cells: "9997;9999;9990", want: "[9997 9999 9990]"},
		{name: "no negative zero", cells: "-0;5", want: "[0 5]"},
		{name: "usual unit", cells: "10;36 km/h", o: ColumnOptions{Usual: "m/s"}, want: "[10 10] m/s bare-number in 0"},
		{name: "in doubt", cells: "900;1,200;1,500", want: `row 2: expected a number that can be read in one way, found ` +
			`"1,200", which is 1.2 or 1200, and no other cell shows which`},
		{name: "told", cells: "900;1,200", o: ColumnOptions{Decimal: Comma}, want: "[900 1.2]"},
		{name: "told point", cells: "900;1,200", o: ColumnOptions{Decimal: Point}, want: "[900 1200] thousands in 1"},
		{name: "told comma", cells: "1.200;1.300", o: ColumnOptions{Decimal: Comma}, want: "[1200 1300] thousands in 0"},
		{name: "two signs", cells: "0.5;1,5", want: `row 2: expected one decimal sign in a column, as in "0.5" (row 1), ` +
			`found "1,5"`},
		{name: "degrees", cells: "5°;6 °;7;n/a", want: "[5 6 7 NaN] ° bare-number in 2"},
		{name: "units", cells: "36 km/h;10 m/s;5", want: `[36 36 5] km/h bare-number in 2`},
		{name: "a share without its sign", cells: "50 %;0.6", want: "[50 0.6] % bare-number in 1"},
		{name: "header's unit", cells: "36 km/h;10;5", o: ColumnOptions{Unit: "m/s"}, want: `[10 10 5] m/s`},
		{name: "degrees Celsius", cells: "20 °C", o: ColumnOptions{Unit: "K"}, want: "[293.15] K"},
		{name: "kelvin", cells: "20 °C;293.15 K", want: "[20 20] °C"},
		{name: "percent", cells: "50 %;60%", want: "[50 60] %"},
		{name: "dates of angles", cells: "01. Mai;02. Mai", o: ColumnOptions{Usual: "deg"}, want: `row 1: expected ` +
			`a number, by the column's header, found "01. Mai", a date`},
		{name: "other unit", cells: "5 m/s;6 deg", want: `row 2: expected a number in m/s, found "6 deg"`},
		{name: "percent and not", cells: "5 %;6 dB", want: `row 2: expected a number in %, found "6 dB"`},
		{name: "one text", cells: "5;zwei", want: `row 2: expected a number, as in other rows of the column, found "zwei"`},
		{name: "one with a unit nobody knows", cells: "5°;6 dgr", want: `row 2: expected a number, as in other rows of the ` +
			`column, found "6 dgr"`},
		{name: "a date of Excel", cells: "1.5;3. Mai", want: `row 2: expected a number, as in other rows of the column, ` +
			`found "3. Mai", a date`},
		{name: "names", cells: "APC;Graupner", want: "names"},
		{name: "names with numbers", cells: "8x6;10x5", want: "names names-with-numbers in 0"},
		{name: "numbers with letters", cells: "1A;1B;2A", want: "names names-with-numbers in 0"},
		{name: "ampere", cells: "1A;2A", want: "[1 2] A"},
		{name: "dates", cells: "12.03.2026;13.03.2026;", want: "names"},
		{name: "nothing", cells: ";-", want: "names"},
		{name: "names of digits", cells: "0012;4412", o: ColumnOptions{Names: true}, want: "names"},
	} {
		col, err := ReadColumn(strings.Split(c.cells, ";"), c.o)
		got := "names"
		switch {
		case err != nil:
			got = err.Error()
		case col.Values != nil:
			got = strings.TrimSpace(fmt.Sprint(col.Values, " ", col.Unit))
		}

		for _, d := range col.Doubts {
			got += fmt.Sprintf(" %s in %d", d.Code, d.Row)
		}

		assert.Equal(t, c.want, got, "%s", c.name)
	}
}

// Numbers in names of files. Each line is one folder: its names are parted by blanks, and ~ stands for a blank in a
// name. want has the numbers of each name; ? marks a number that is Doubtful. Expected: what the writer means, by hand.
func TestCutNames(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"aoa-10_r1 aoa-05_r1 aoa000_r1 aoa+05_r1 aoa+10_r1", "-10,1 -5,1 0,1 5,1 10,1"},
		{"alpha-4.txt alpha0.txt alpha4.txt", "-4 0 4"},
		{"alpha-4.txt alpha-8.txt", "-4? -8?"},
		{"a-5 a-10", "-5? -10?"},
		{"aoa_-5 aoa_5", "-5 5"},
		{"run-1 run-2 run-3", "1 2 3"},
		{"rpm-3000_u-10 rpm-4000_u-10", "3000,10 4000,10"},
		{"run-1_alpha-4 run-2_alpha0", "1,-4 2,0"},
		{"run-1_alpha-4 run-2_alpha-8", "1,4? 2,8?"},
		{"run-03_aoa-05 run-04_aoa-10", "3,5? 4,10?"},
		{"run-03_aoa-00 run-04_aoa-00", "3,0 4,0"},
		{"run-03_u-05 run-04_u-10", "3,5 4,10"},
		{"NACA-0012 NACA0015", "12 15"},
		{"NACA-0012_aoa-5 NACA-0015_aoa-10", "12,-5? 15,-10?"},
		{"prop_hq-5040 prop_hq5140", "5040 5140"},
		{"2023-04-11_a5 2023-04-12_a-5", "2023,4,11,5 2023,4,12,-5"},
		{"alpha1,5deg alpha2deg", "1.5 2"},
		{"alpha1p5deg alpha2p0deg", "1.5 2"},
		{"alpha1d5deg", "1.5"},
		{"Re2.5e5 Re1e5 Re2e+05", "250000 100000 200000"},
		{"am5 a5 a0", "-5 5 0"},
		{"alpham5 alphap5", "-5 5"},
		{"alpha_m5_u10 alpha_p5_u10", "-5,10 5,10"},
		{"alpha_neg5 alpha_5", "-5 5"},
		{"aoa_n05 aoa_005 AoAn10", "-5 5 -10"},
		{"a_n50 a_n60", "50 60"},
		{"alpha_n3000", "3000"},
		{"neg5 5", "-5 5"},
		{"aoa_minus2p5", "-2.5"},
		{"minus05deg_x 05deg_x", "-5 5"},
		{"m5deg p5deg", "-5 5"},
		{"rpm3000 rpm4500", "3000 4500"},
		{"ramp5 stem5 map5", "5 5 5"},
		{"2blades_3000rpm_10deg", "2,3000,10"},
		{"ISAE_2_6000_-45", "2,6000,-45"},
		{"mic05_20p15", "5,20.15"},
		{"J0.5_n6000 J0p55_n6000", "0.5,6000 0.55,6000"},
		{"beta=-10 beta=10", "-10 10"},
		{"yaw-15 yaw-10 yaw-05", "-15? -10? -5?"},
		{"yaw-10 yaw-5 yaw-0", "10 5 0"},
		{"beta_neg5 beta_pos5", "-5 5"},
		{"rollplus5", "5"},
		{"u12.5ms u12ms", "12.5 12"},
		{"5,10,15", "5,10,15"},
		{"v1.2.3", "1.2,3"},
		{"rec_0017", "17"},
		{"naca0012_a5 naca0012_am5", "12,5 12,-5"},
		{"take5 take12", "5 12"},
		{"x-5mm x5mm", "-5 5"},
		{"pos-5 pos+5", "-5 5"},
		{"T20C_p101325Pa", "20,101325"},
		{"-5deg 5deg a−0_x–5", "-5 5 0,-5"},
		{"20230411_153012_a2", "20230411,153012,2"},
		{"rpm3000p20", "3000,20"},
		{"aoa5m_n50 aoa0_n50 aoa5p_n50 yaw10neg_n50", "-5,50 0,50 5,50 -10,50"},
		{"alpha_minus_4 alpha_plus_4 pitch_neg_4", "-4 4 -4"},
		{"el-60_V5 el-45_V5", "-60?,5 -45?,5"},
		{"xm20_y0 x0_yneg5 x0_y0 x20_y5", "-20,0 0,-5 0,0 20,5"},
		{"ca5_u1 cam5_u1", "5,1 5,1"},
		{"a-.5_u1 a0_u1 a.5_u1", "-0.5,1 0,1 0.5,1"},
		{"V.10.a.5 V.20.a.0", "10,5 20,0"},
		{"alpha1pt5 alpha2point5", "1.5 2.5"},
		{"5'500rpm 5’500_rpm 12~000~rpm_a3 rpm~5~500", "5500 5500 12000,3 5500"},
		{"wing~3~500~rpm 2~1500rpm 2~500rpm", "3,500 2,1500 2,500"},
		{"5mps_n10deg 5mps_10deg", "5,-10 5,10"},
		{"V7p5,a3 V7d5,a3 V12,5_a3 V2,4,6", "7.5,3 7.5,3 12.5,3 2,4,6"},
		{"4_500rpm_a0 10_500_rpm_a-5 Re150_000_a0 Re1_500_000", "4500,0 10500,-5? 150000,0 1.5e+06"},
		{"0_500rpm 5_500rpm a-4_500rpm", "0,500 5,500 -4?,500"},
		{"Re200_000 Re200_120 Re200_090deg 5'500Hz", "200,0 200,120 200,90 5500"},
		{"M08_u1 P05_u1 00_u1 z_m30 z_0 z_p45", "-8,1 5,1 0,1 -30 0 45"},
		{"Re2·10⁵_a0 Re10⁶_a0 Re5x10^4_a0 1e5Re_a0", "200000,0 1e+06,0 50000,0 100000,0"},
	} {
		var got []string
		files := strings.Fields(c.files)
		for i, file := range files {
			files[i] = strings.ReplaceAll(file, "~", " ")
		}

		for _, n := range CutNames(files) {
			var v []string
			for k := range n.Numbers {
				x, _ := ParseName(n.Numbers[k])
				text := fmt.Sprint(x)
				if slices.Contains(n.Doubtful, k) {
					text += "?"
				}

				v = append(v, text)
			}

			got = append(got, strings.Join(v, ","))
			assert.Contains(t, strings.Join(files, "/"), n.join())
		}

		want := strings.NewReplacer("20230411", "2.0230411e+07").Replace(c.want)
		assert.Equal(t, want, strings.Join(got, " "), "%s", c.files)
	}

	for s, want := range map[string]float64{
		"5": 5, "m5": -5, "p5": 5, "pos5": 5, "plus5": 5, "neg5": -5,
		"minus1p5": -1.5, "1,5": 1.5, "2.5e-3": .0025, "5.": 5, ".5": .5, "+5": 5,
		"": math.NaN(), "m": math.NaN(), "1e999": math.NaN(), "five": math.NaN(),
	} {
		v, ok := ParseName(s)
		assert.Equal(t, !math.IsNaN(want), ok, "%q", s)
		if ok {
			assert.InDelta(t, want, v, 0, "%q", s)
		}
	}
}

// join returns the name that was cut.
func (c Cut) join() string {
	var b strings.Builder
	for k, n := range c.Numbers {
		b.WriteString(c.Texts[k] + n)
	}

	return b.String() + c.Texts[len(c.Numbers)]
}
