package train

import (
	"context"
	"fmt"
	"math"

	"doubletake/train/kernel"
)

// Epoch is what Fit reports after each pass over the data.
type Epoch struct {
	Epoch        int     // from 1
	Loss         float64 // mean over the epoch's triplets, in training (with dropout, moving weights)
	LearningRate float64 // of the epoch's last step
}

// ConstantInputError says that an input has the same value in every training
// row, so that nothing can be learned about it and it cannot be standardised.
type ConstantInputError struct {
	Column int // of X, from 0
	Value  float64
}

func (e *ConstantInputError) Error() string {
	return fmt.Sprintf("input column %d is constant (%g) in the training rows: leave it out or train on rows where it varies", e.Column, e.Value)
}

// scaler holds mean and population standard deviation per column.
type scaler struct{ mean, std []float64 }

func identityScaler(n int) scaler {
	s := scaler{make([]float64, n), make([]float64, n)}
	for i := range s.std {
		s.std[i] = 1
	}
	return s
}

// newScaler pools the rows of all parts, each rows × n.
func newScaler(n int, parts ...[]float64) scaler {
	s := scaler{make([]float64, n), make([]float64, n)}
	rows := 0
	for _, p := range parts {
		rows += len(p) / n
	}
	// Two passes about the first row: levels far from zero lose nothing.
	for j := range n {
		origin, sum := parts[0][j], 0.0
		for _, p := range parts {
			for i := j; i < len(p); i += n {
				sum += p[i] - origin
			}
		}
		m := origin + sum/float64(rows)
		ss := 0.0
		for _, p := range parts {
			for i := j; i < len(p); i += n {
				d := p[i] - m
				ss += float64(d * d)
			}
		}
		s.mean[j], s.std[j] = m, math.Sqrt(ss/float64(rows))
	}
	return s
}

func (d Triplets) check() error {
	if d.In < 1 || d.Out < 1 || d.In > maxWidth || d.Out > maxWidth {
		return fmt.Errorf("expected 1 to %d inputs and outcomes, found %d and %d", maxWidth, d.In, d.Out)
	}
	if len(d.X) != d.N*d.In || len(d.Y1) != d.N*d.Out || len(d.Y2) != d.N*d.Out {
		panic(fmt.Sprintf("train: triplets of %d rows, %d inputs, %d outcomes have slices of %d, %d, %d numbers",
			d.N, d.In, d.Out, len(d.X), len(d.Y1), len(d.Y2)))
	}
	if d.N < 2 {
		return fmt.Errorf("expected at least 2 training rows, found %d", d.N)
	}
	for _, c := range []struct {
		name string
		v    []float64
		n    int
	}{{"input", d.X, d.In}, {"first outcome", d.Y1, d.Out}, {"second outcome", d.Y2, d.Out}} {
		for i, x := range c.v {
			// Squares must stay finite in float32 where data are not standardised.
			if !finite(x) || math.Abs(x) > 1e150 {
				return fmt.Errorf("row %d, %s column %d: expected a finite number, found %g", i/c.n, c.name, i%c.n, x)
			}
		}
	}
	for j := range d.In {
		constant := true
		for i := 1; i < d.N && constant; i++ {
			constant = d.X[i*d.In+j] == d.X[j]
		}
		if constant {
			return &ConstantInputError{Column: j, Value: d.X[j]}
		}
	}
	return nil
}

// Fit trains a network on triplets (METHOD §2) and returns it with its history.
//
// The result depends on data, cfg and the set of kernels only. Fit runs on the
// calling goroutine; several may run at once. hook, unless nil, is called after
// each epoch. ctx is looked at before each step; when it is done, Fit returns
// its error and no model.
//
// Errors: invalid settings, fewer than two rows, numbers that are not finite,
// a *ConstantInputError, an outcome that is constant (when standardising), and
// a loss that stopped being finite. Slices that do not fit the shape panic.
func Fit(ctx context.Context, data Triplets, cfg Config, hook func(Epoch)) (*Model, []Epoch, error) {
	return FitWith(ctx, data, cfg, FitOptions{Hook: hook})
}

func flagInputs(feedback string) int {
	if feedback == Flag {
		return 1
	}
	return 0
}

// packRows interleaves standardised x, y1, y2: one cache line or two a triplet.
func packRows[T kernel.Float](d Triplets, in, out scaler) []T {
	row := d.In + 2*d.Out
	rows := make([]T, d.N*row)
	for i := range d.N {
		r := rows[i*row : (i+1)*row]
		for j := range d.In {
			r[j] = T((d.X[i*d.In+j] - in.mean[j]) / in.std[j])
		}
		for j := range d.Out {
			r[d.In+j] = T((d.Y1[i*d.Out+j] - out.mean[j]) / out.std[j])
			r[d.In+d.Out+j] = T((d.Y2[i*d.Out+j] - out.mean[j]) / out.std[j])
		}
	}
	return rows
}
