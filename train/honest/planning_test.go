package honest

import (
	"context"
	"testing"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/require"
)

// Split holds out rows as a test set. Its other rows are trained on, and their groups left out in turn.
type Split struct {
	Name        string
	Test, Train []int // rows, ascending
	Held        []Held
}

// NewSplit holds out the rows that test marks.
func NewSplit(g Grouping, name string, test []bool) Split {
	s := Split{Name: name}
	s.Train, s.Held = g.LeaveOneOut(test)
	for i, held := range test {
		if held {
			s.Test = append(s.Test, i)
		}
	}

	return s
}

// Each returns one split for each group of g, with the group as its test set and its name.
func (g Grouping) Each() (splits []Split) {
	for h, name := range g.Names {
		test := make([]bool, len(g.Group))
		for i, k := range g.Group {
			test[i] = k == h
		}

		splits = append(splits, NewSplit(g, name, test))
	}

	return splits
}

// FitFunc trains a base model on the given rows alone. Neither outcomes nor scales of other rows may enter.
type FitFunc func(ctx context.Context, rows []int) (Predictor, error)

// Fit returns a model of all training rows, and each left-out group as predicted by a model that was trained without
// it.
func (s Split) Fit(t testing.TB, d triplets.Set, g Grouping, fit FitFunc) (full Predictor, left []LeftOut) {
	t.Helper()

	ctx := t.Context()
	full, err := fit(ctx, s.Train)
	require.NoError(t, err)

	for _, h := range s.Held {
		m, err := fit(ctx, h.Rest)
		require.NoError(t, err)

		p, err := m.Predict(ctx, lists.Rows(d.X, d.In, h.Rows))
		require.NoError(t, err)

		left = append(left, NewLeftOut(d, g, h, p))
	}

	return full, left
}
