package baseline_test

import (
	"context"
	"fmt"

	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// A Gaussian process on pairs of y = x: sure between the data, unsure beyond.
func ExampleNew() {
	var data triplets.Set
	data.In = 1
	data.Out = 1
	for i := range 20 {
		x := float64(i) / 10
		data.N++
		data.X = append(data.X, x)
		data.Y1 = append(data.Y1, x+0.01)
		data.Y2 = append(data.Y2, x-0.01)
	}

	m, err := baseline.New("gp", baseline.Settings{Config: train.DefaultConfig()})
	if err != nil {
		panic(err)
	}

	p, err := m.Fit(context.Background(), data, 1)
	if err != nil {
		panic(err)
	}

	r, err := p.Predict(context.Background(), []float64{1, 30})
	if err != nil {
		panic(err)
	}

	fmt.Printf("at 1: %.2f; more is unknown at 30: %v\n", r.Mu[0], r.Epistemic[1] > 10*r.Epistemic[0])
	// Output: at 1: 1.00; more is unknown at 30: true
}
