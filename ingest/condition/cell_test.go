package condition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A number in a cell as people and spreadsheets write it. Expected: what the writer means, by hand. A number that has
// two readings is written as the reading with a decimal point, a bar, and the reading with a decimal comma. Readings
// that agree, or the only reading, are written once.
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
