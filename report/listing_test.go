package report

import (
	"bytes"
	"math"
	"os"
	"testing"

	"doubletake/train/numbers"
)

func ExampleListing() {
	l := Listing{Heads: []string{"rank", "blades", "gain", "advice"}}
	l.Add("1", "5", "12 %", "measure here: 新しい")
	l.Add("2", "10")

	l.Write(os.Stdout, 0)
	os.Stdout.WriteString("\n")
	l.Write(os.Stdout, 30)
	// Output:
	// rank  blades  gain  advice
	// 1     5       12 %  measure here: 新しい
	// 2     10
	//
	// rank  blades  gain
	// 1     5       12 %
	// 2     10
	//
	// rank  advice
	// 1     measure here: 新しい
	// 2
}

// Records become rows: members of objects are columns, floats have all digits, and no text is a formula.
func TestCSV(t *testing.T) {
	names := []string{"rpm", "a"}
	records := []numbers.Object{
		{"at", numbers.Named(names, []float64{-3000, 0.1}), "dof", math.Inf(1), "n", 3, "why", "=1+1"},
		{"at", numbers.Named(names, []float64{1e300, 1. / 3}), "dof", math.NaN(), "n", 0, "why", []string{"a", "b"}},
	}

	var b bytes.Buffer
	want := "rpm,a,dof,n,why\n-3000,0.1,inf,3,'=1+1\n1e+300,0.3333333333333333,,0,a; b\n"
	if err := CSV(&b, records); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}
