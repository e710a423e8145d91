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
// table of triplets x, y_1, y_2. x is uniform in [Lo, Hi], and both y are drawn independently from
// N(x·sin x, σ²(x)) with σ(x) = γ·exp(−x²/2). Start from DefaultToy.
type Toy struct {
	Seed  uint64  `json:"seed" key:"seed"`
	N     int     `json:"n" key:"triplets"`  // triplets
	Gamma float64 `json:"gamma" key:"gamma"` // noise level
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

var _ Campaign = Toy{}

// DefaultToy returns the campaign of a configuration without settings. The paper has γ = 1, 1.5 and 3.
func DefaultToy() Toy { return Toy{N: 1000, Gamma: 1.5, Lo: -6, Hi: 6} }

// Kind returns "toy".
func (t Toy) Kind() string { return "toy" }

// Validate implements Campaign.
func (t Toy) Validate() error {
	f := faults{kind: "toy"}
	f.need(t.N >= 1 && t.N <= 1e7, "N", "1 to 10000000", t.N)
	f.need(t.Gamma > 0 && t.Gamma <= 1e6, "Gamma", "more than 0, at most 1e+06", t.Gamma)
	f.need(t.Lo < t.Hi && !math.IsInf(t.Hi-t.Lo, 0), "Lo, Hi", "Lo < Hi, both finite", fmt.Sprintf("%v, %v", t.Lo, t.Hi))

	return errors.Join(f.list...)
}

// Files returns the one table.
func (t Toy) Files() []File {
	return []File{{Name: "simulated_toy_triplets.csv", Conditions: map[string]float64{}}}
}

// Conditions returns "": the table contains its conditions.
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

// ToyMean returns the mean outcome at x.
func ToyMean(x float64) float64 { return x * math.Sin(x) }

// ToySigma returns the standard deviation of an outcome at x.
func ToySigma(x, gamma float64) float64 { return gamma * math.Exp(-x*x/2) }

// Inputs returns the values of x, in the order of the table.
func (t Toy) Inputs() []float64 {
	draws := newStream(t.Seed, "toy", "x")
	inputs := make([]float64, t.N)
	for i := range inputs {
		inputs[i] = t.Lo + (t.Hi-t.Lo)*draws.uniform()
	}

	return inputs
}

// Write writes the table; i must be 0. Numbers have as many digits as needed to read them back exactly.
func (t Toy) Write(ctx context.Context, w io.Writer, i int) error {
	if err := checkFile(t.Kind(), i, 1); err != nil {
		return err
	}

	if err := t.Validate(); err != nil {
		return err
	}

	y1 := newStream(t.Seed, "toy", "y_1")
	y2 := newStream(t.Seed, "toy", "y_2")
	buffer := bufio.NewWriter(w)
	buffer.WriteString("x,y_1,y_2\n")

	for row, x := range t.Inputs() {
		if row%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}

		mean := ToyMean(x)
		sigma := ToySigma(x, t.Gamma)
		line := strconv.AppendFloat(buffer.AvailableBuffer(), x, 'g', -1, 64)
		line = append(line, ',')
		line = strconv.AppendFloat(line, mean+sigma*y1.norm(), 'g', -1, 64)
		line = append(line, ',')
		line = strconv.AppendFloat(line, mean+sigma*y2.norm(), 'g', -1, 64)
		line = append(line, '\n')
		buffer.Write(line) // Flush returns an error of Write
	}

	return buffer.Flush()
}
