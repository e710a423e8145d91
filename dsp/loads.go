package dsp

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// LoadMatrix turns the voltages of a balance into loads. Each load is a sum of coefficients times the
// voltages, and of coefficients times products of voltages, the terms.
type LoadMatrix struct {
	rows     [][]float64 // [load]: a coefficient for each voltage, then one for each term
	voltages int         // number of voltages
	terms    []loadTerm
}

// loadTerm is a product of factors.
type loadTerm []loadFactor

// loadFactor is a power of a voltage or of its magnitude.
type loadFactor struct {
	voltage int // number of the voltage, from 0
	power   int // from 1
	abs     bool
}

// NewLoadMatrix returns a matrix with one row of coefficients per load, in load units per volt: first
// a coefficient for each of the voltages, then one for each of terms. A term is a product of voltages,
// numbered from 1, with powers and magnitudes: "1*2", "3^2", "|1|", "|1|*2". Rows of a wrong length and
// terms that cannot be parsed are a *fault.Error.
func NewLoadMatrix(rows [][]float64, voltages int, terms []string) (*LoadMatrix, error) {
	m := &LoadMatrix{rows: rows, voltages: voltages}
	for _, text := range terms {
		t, err := parseTerm(text, voltages)
		if err != nil {
			return nil, err
		}

		m.terms = append(m.terms, t)
	}

	if len(rows) == 0 {
		return nil, wrong("balance matrix", "a row for each load", "none", "")
	}

	for i, r := range rows {
		want := voltages + len(terms)
		if len(r) != want {
			return nil, wrong(fmt.Sprintf("balance matrix, row %d", i+1),
				fmt.Sprintf("%d coefficients (%d voltages, %d further terms)", want, voltages, len(terms)),
				strconv.Itoa(len(r)), "")
		}
	}

	return m, nil
}

// parseTerm parses a product of factors.
func parseTerm(text string, voltages int) (loadTerm, error) {
	var t loadTerm
	for _, factor := range strings.Split(strings.ReplaceAll(text, " ", ""), "*") {
		f, wrongPart := parseFactor(factor, voltages)
		if wrongPart != "" {
			return nil, wrong("balance term "+strconv.Quote(text),
				fmt.Sprintf(`a product of voltages by number from 1 to %d, as "1*2", "3^2" or "|1|*2"`, voltages), wrongPart, "")
		}

		t = append(t, f)
	}

	return t, nil
}

// parseFactor parses a power of a voltage. If the text is wrong, wrongPart describes the wrong part.
// Otherwise it is empty.
func parseFactor(text string, voltages int) (f loadFactor, wrongPart string) {
	f.power = 1
	base, exponent, hasPower := strings.Cut(text, "^")
	if hasPower {
		power, err := strconv.Atoi(exponent)
		if err != nil || power < 1 || power > 9 {
			return f, "the power " + strconv.Quote(exponent)
		}

		f.power = power
	}

	f.abs = len(base) > 2 && base[0] == '|' && base[len(base)-1] == '|'
	if f.abs {
		base = base[1 : len(base)-1]
	}

	number, err := strconv.Atoi(base)
	if err != nil || number < 1 || number > voltages {
		return f, "the factor " + strconv.Quote(base)
	}

	f.voltage = number - 1

	return f, ""
}

// Loads returns one series per load from one series per voltage. The series are equally long.
func (m *LoadMatrix) Loads(voltages [][]float64) [][]float64 {
	if len(voltages) != m.voltages {
		panic(fmt.Sprintf("dsp: loads of %d voltages, the matrix has %d", len(voltages), m.voltages))
	}

	n := len(voltages[0])
	loads := make([][]float64, len(m.rows))
	for i := range loads {
		loads[i] = make([]float64, n)
	}

	x := make([]float64, m.voltages+len(m.terms)) // voltages and terms of one sample
	for k := range n {
		for v := range voltages {
			x[v] = voltages[v][k]
		}

		for j, t := range m.terms {
			x[m.voltages+j] = t.value(x)
		}

		for i, row := range m.rows {
			sum := 0.0
			for j, c := range row {
				sum += float64(c * x[j])
			}

			loads[i][k] = sum
		}
	}

	return loads
}

// value returns the value of the term for the voltages x.
func (t loadTerm) value(x []float64) float64 {
	product := 1.0
	for _, f := range t {
		v := x[f.voltage]
		if f.abs {
			v = math.Abs(v)
		}

		for range f.power {
			product *= v
		}
	}

	return product
}

// Blockage returns (1 + ε)², the factor by which blockage raises the dynamic pressure at the model in a
// closed test section. ε is the relative increase of the speed.
func Blockage(epsilon float64) float64 { return (1 + epsilon) * (1 + epsilon) }
