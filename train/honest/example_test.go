package honest_test

import (
	"context"
	"fmt"
	"slices"

	"doubletake/train/honest"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// mean is a base that predicts the mean of its training rows everywhere, with the same claim.
type mean float64

func (m mean) Predict(_ context.Context, x []float64) (triplets.Prediction, error) {
	return triplets.Prediction{
		Mu:    slices.Repeat([]float64{float64(m)}, len(x)),
		Claim: slices.Repeat([]float64{0.1}, len(x)),
		Noise: slices.Repeat([]float64{0.01}, len(x)),
	}, nil
}

// Six speeds were measured by two pairs each. The interval at a seventh speed rests on the errors of the base at each
// measured speed when the speed was left out.
func Example() {
	d := triplets.Set{
		N: 12, In: 1, Out: 1,
		X:  []float64{4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14},
		Y1: []float64{1.0, 1.1, 1.2, 1.3, 1.6, 1.5, 1.4, 1.5, 1.9, 1.8, 2.1, 2.0},
		Y2: []float64{1.1, 1.0, 1.4, 1.3, 1.4, 1.5, 1.6, 1.4, 1.8, 1.9, 2.0, 2.2},
	}

	fit := func(rows []int) mean {
		m := 0.0
		for _, i := range rows {
			m += (d.Y1[i] + d.Y2[i]) / float64(2*len(rows))
		}

		return mean(m)
	}

	ctx := context.Background()
	groups := honest.ByValue("speed", d.X, 0)
	train, held := groups.LeaveOneOut(make([]bool, d.N))

	var left []honest.LeftOut
	for _, h := range held {
		p, _ := fit(h.Rest).Predict(ctx, d.Select(h.Rows).X)
		left = append(left, honest.NewLeftOut(d, groups, h, p))
	}

	prior, err := scale.Named("wide")
	if err != nil {
		fmt.Println(err)
		return
	}

	c, err := honest.Calibrate(d, groups, train, left, honest.Options{Prior: prior, FromGroup: []bool{true}})
	if err != nil {
		fmt.Println(err)
		return
	}

	x := []float64{9, 20}
	raw, _ := fit(train).Predict(ctx, x)
	p := c.Predict(x, x, nil, raw)
	for i := range p.N {
		fmt.Printf("speed %g: %.2f ± %.2f, extrapolated: %v\n", x[i], p.Mu[i], p.Half[i], p.Where[i].Outside)
	}
	// Output:
	// speed 9: 1.54 ± 0.97, extrapolated: false
	// speed 20: 1.54 ± 2.05, extrapolated: true
}
