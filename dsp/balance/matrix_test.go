package balance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest/setting"
	"doubletake/internal/testfile"

	"github.com/stretchr/testify/assert"
)

// A file with a matrix may have German or English numbers, names of the loads, and a header with the voltages and
// terms. The expected text contains the matrix, the terms and the components, or the error. With 96 coefficients for 6
// voltages, the terms are the products of AIAA R-091, whose first groups were written by hand.
func TestMatrixFile(t *testing.T) {
	wide := strings.Repeat("1\t", 95) + "2,5\n"
	for _, c := range []struct{ text, volts, components, terms, want string }{
		{"Last;U1;U2\nFx;1,5;2\nFz;-3;4e1\n", "U1, U2", "", "", "[[1.5 2] [-3 40]] [] [Fx Fz]"},
		{"Fx;1,5;2\nFz;-3;4e1\n", "U1, U2", "", "", "[[1.5 2] [-3 40]] [] [Fx Fz]"},
		{"Last;U2;U1\nFx;1,5;2\nFz;-3;4e1\n", "U1, U2", "", "", "[[2 1.5] [40 -3]] [] [Fx Fz]"},
		{"Last;U1;U2\nFz;1;2\nFx;3;4\n", "U1, U2", "Fx, Fz", "", "[[3 4] [1 2]] [] [Fx Fz]"},
		{"1.5,2\n-3,nan\n", "U1, U2", "Fx, Fz", "", `column 2: expected a number, found "nan"`},
		{"1.5,2\n-3,40\n", "U1, U2", "Fx, Fz", "", "[[1.5 2] [-3 40]] [] [Fx Fz]"},
		{
			"# N per V\n 1.5 2 7\n-3 40 8\n", "U1, U2", "Fx, Fz", "1*2",
			"[[1.5 2 7] [-3 40 8]] [1*2] [Fx Fz]",
		},
		{",U1,U2,U1*U2,U2^2\nFx,1,2,3,4\nFz,1,2,3,4\n", "U1, U2", "", "", "[[1 2 3 4] [1 2 3 4]] [1*2 2^2] [Fx Fz]"},
		{
			"Fx\t" + wide + "Fz\t" + wide, "U1, U2, U3, U4, U5, U6", "", "",
			"|1| |2| |3| |4| |5| |6| 1^2 2^2 3^2 4^2 5^2 6^2 1*|1| 2*|2| 3*|3| 4*|4| 5*|5| 6*|6| 1*2 1*3 1*4 1*5 1*6 2*3",
		},
		{
			"Fx,1,2,3\nFz,1,2,3\n", "U1, U2", "", "",
			"of 2 coefficients or of 16 with the products of AIAA R-091, found 2 rows of 3",
		},
		{
			"Fx,1,2\n", "U1, U2", "Fx, Fz", "",
			"of the components [Fx Fz], of 2 coefficients or of 16 with the products of AIAA R-091, found 1 rows of 2",
		},
		{"Fx,1,2\nFz,1,x\n", "U1, U2", "", "", `m.csv: matrix, row 2, column 3: expected a number, found "x"`},
	} {
		dir := t.TempDir()
		testfile.Write(t, filepath.Join(dir, "m.csv"), c.text)

		own := &setting.Balance{Voltages: strings.Split(c.volts, ", "), MatrixFile: "m.csv"}
		own.SetDefaults()
		if c.components != "" {
			own.Components = strings.Split(c.components, ", ")
		}

		if c.terms != "" {
			own.Terms = strings.Split(c.terms, ", ")
		}

		isGiven := func(key string) bool { return key == "balance.components" && c.components != "" }
		read := setting.Campaign{Balance: own}
		err := readMatrix(setting.Project{Dir: dir, Given: isGiven}, &read)
		assert.Contains(t, fmt.Sprint(read.Balance.Matrix, read.Balance.Terms, read.Balance.Components, err), c.want)
	}
}
