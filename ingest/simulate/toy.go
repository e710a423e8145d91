package simulate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Toy is the paper's synthetic experiment (docs/method.md#synthetic-data-and-couples): one CSV
// table of triplets x, y_1, y_2 with x ~ U[Lo, Hi] and both y drawn
// independently from N(x·sin x, σ²(x)), σ(x) = γ·exp(−x²/2). Start from
// DefaultToy.
type Toy struct {
	Seed  uint64  `json:"seed" key:"seed"`
	N     int     `json:"n" key:"triplets"`  // triplets
	Gamma float64 `json:"gamma" key:"gamma"` // noise level
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

var _ Campaign = Toy{}

// DefaultToy is the campaign where nothing else is stated; the paper has γ = 1, 1.5 and 3.
func DefaultToy() Toy { return Toy{N: 1000, Gamma: 1.5, Lo: -6, Hi: 6} }

// Kind returns "toy".
func (t Toy) Kind() string { return "toy" }

// Validate returns every unusable field with the expected range.
func (t Toy) Validate() error {
	f := faults{kind: "toy"}
	f.need(t.N >= 1 && t.N <= 1e7, "N", "1 to 10000000", t.N)
	f.need(t.Gamma > 0 && t.Gamma <= 1e6, "Gamma", "more than 0, at most 1e+06", t.Gamma)
	f.need(t.Lo < t.Hi && !math.IsInf(t.Hi-t.Lo, 0), "Lo, Hi", "Lo < Hi, both finite", fmt.Sprintf("%v, %v", t.Lo, t.Hi))

	return errors.Join(f.list...)
}

// Files lists the one table.
func (t Toy) Files() []File {
	return []File{{Name: "simulated_toy_triplets.csv", Conditions: map[string]float64{}}}
}

// Conditions writes nothing: the table holds its conditions.
func (t Toy) Conditions() string { return "" }

// Readme describes the campaign.
func (t Toy) Readme() string {
	return fmt.Sprintf(`simulated toy campaign: no measurement

generator version  %s
seed               %d
files              simulated_toy_triplets.csv: %d triplets x, y_1, y_2
model              x uniform in %s to %s; y_1, y_2 ~ N(x sin x, s(x)^2), s(x) = %s exp(-x^2/2)
units              none; full scale does not apply
`, Version, t.Seed, t.N, plain(t.Lo), plain(t.Hi), plain(t.Gamma))
}

// ToyMean is the mean outcome at x.
func ToyMean(x float64) float64 { return x * math.Sin(x) }

// ToySigma is the standard deviation of an outcome at x.
func ToySigma(x, gamma float64) float64 { return gamma * math.Exp(-x*x/2) }

// Inputs are the values of x, in the order of the table.
func (t Toy) Inputs() []float64 {
	v, xs := make([]float64, t.N), newStream(t.Seed, "toy", "x")
	for i := range v {
		v[i] = t.Lo + (t.Hi-t.Lo)*xs.uniform()
	}

	return v
}

// Write makes the table, i = 0. Numbers have as many digits as identify them.
func (t Toy) Write(ctx context.Context, w io.Writer, i int) error {
	if i != 0 {
		panic(fmt.Sprintf("simulate: toy campaign has 1 file, asked for file %d", i))
	}

	if err := t.Validate(); err != nil {
		return err
	}

	y1, y2 := newStream(t.Seed, "toy", "y_1"), newStream(t.Seed, "toy", "y_2")
	b := bufio.NewWriter(w)
	b.WriteString("x,y_1,y_2\n")

	for row, x := range t.Inputs() {
		if row%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}

		mean, sigma := ToyMean(x), ToySigma(x, t.Gamma)
		line := strconv.AppendFloat(b.AvailableBuffer(), x, 'g', -1, 64)
		line = strconv.AppendFloat(append(line, ','), mean+sigma*y1.norm(), 'g', -1, 64)
		line = strconv.AppendFloat(append(line, ','), mean+sigma*y2.norm(), 'g', -1, 64)
		b.Write(append(line, '\n'))
	}

	return b.Flush()
}
