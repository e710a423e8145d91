package gp_test

import (
	"context"
	"fmt"
	"math"

	"doubletake/train/gp"
	"doubletake/train/triplets"
)

// Three speeds were measured at nine angles, twice each; a fourth is predicted.
// What the process learns of the angle at all speeds holds for the new one.
func Example() {
	d := triplets.Set{In: 2, Out: 1}
	for g, speed := range []float64{6, 10, 14} {
		for k := range 9 {
			alpha := float64(4*k - 16)
			lift := math.Sin(alpha*math.Pi/90) + 0.01*speed
			d.X = append(d.X, alpha, math.Log(speed))
			d.Y1 = append(d.Y1, lift+0.01*math.Sin(float64(7*k+g)))
			d.Y2 = append(d.Y2, lift-0.01*math.Cos(float64(5*k+g)))
			d.Run = append(d.Run, g)
			d.N++
		}
	}

	ctx := context.Background()
	m, err := gp.Fit(ctx, d, gp.Options{GroupInputs: []int{1}, Group: d.Run})
	if err != nil {
		fmt.Println(err)
		return
	}

	p, err := m.Predict(ctx, []float64{10, math.Log(8)})
	if err != nil {
		fmt.Println(err)
		return
	}

	left, err := m.LeaveOut(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	worst := 0.0
	for i, y := range d.Y1 {
		worst = max(worst, math.Abs(left.Mu[i]-y))
	}

	fmt.Printf("lift at 10° and 8 m/s: %.2f (true 0.42)\n", p.Mu[0])
	fmt.Printf("largest error on a speed that was left out: %.2f\n", worst)
	// Output:
	// lift at 10° and 8 m/s: 0.42 (true 0.42)
	// largest error on a speed that was left out: 0.03
}
