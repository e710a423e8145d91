package main

import (
	"testing"

	"doubletake/report/answer/suggest"
)

// By hand: on a line with nothing measured before, two of five are picked with
// ℓ = 1/2. The first takes exp(−d²/ℓ²) of the others with it: of 0.9 at distance
// 1/4 remains 0.9·(1−e^−¼) = 0.199, of 0.5 at distance 1 0.5·(1−e^−4) = 0.491.
func TestBatch(t *testing.T) {
	var list []suggest.Suggestion
	for k, e := range []float64{1, 0.9, 0.3, 0.2, 0.5} {
		list = append(list, suggest.Suggestion{
			Candidate: suggest.Candidate{At: []float64{10 * float64(k), 7}}, Epistemic: e,
		})
	}

	got := batch(list, 2, 0)
	if len(got) != 2 || got[0].At[0] != 0 || got[1].At[0] != 40 {
		t.Errorf("picked %v", got)
	}

	// With so many conditions measured that nothing is near: by rank.
	if got := batch(list, 2, 1000); got[1].At[0] != 10 {
		t.Errorf("picked %v, want the first in rank", got)
	}

	if got := batch(list, 9, 0); len(got) != 5 {
		t.Errorf("%d of five", len(got))
	}

	if batch(nil, 3, 0) != nil || batch(list, 0, 0) != nil {
		t.Error("nothing to pick from, or nothing to pick")
	}
}
