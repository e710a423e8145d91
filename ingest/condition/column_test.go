package condition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
