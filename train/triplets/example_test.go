package triplets_test

import (
	"fmt"

	"doubletake/train/triplets"
)

// Four runs of a wing at two angles; the second angle is held out.
func ExampleSet() {
	s := triplets.New(
		[]triplets.Quantity{{Name: "alpha_deg", Unit: "deg"}}, []triplets.Quantity{{Name: "lift_n", Unit: "N"}},
		[]float64{2, 2, 4, 4}, []float64{10, 11, 20, 22}, []float64{12, 11, 21, 21})
	s.SetRuns([]string{"a", "b", "c", "d"})
	s.Part = []triplets.Part{triplets.Train, triplets.Train, triplets.Test, triplets.Test}

	train := s.Only(triplets.Train)
	s.Scale = triplets.ScaleOf(s.Out, train.Y1, train.Y2)
	test := s.Only(triplets.Test)
	fmt.Println(s.Conditions(), "conditions, held out:", s.Only(triplets.Test).Values(0))
	fmt.Println("mean of the training outcomes:", s.Scale.Mean[0], s.Outcomes[0].Unit)
	fmt.Printf("%.2f standard deviations above it: %v\n", test.Standardised().Y1, test.Y1)
	// Output:
	// 2 conditions, held out: [4]
	// mean of the training outcomes: 11 N
	// [12.73 15.56] standard deviations above it: [20 22]
}
