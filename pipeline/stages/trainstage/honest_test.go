package trainstage

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"doubletake/pipeline/config"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// speeds simulates pairs at the given speeds and nine angles: a lift that depends
// on the angle, with an amplitude that depends on the speed.
func speeds(values []float64, test float64) (triplets.Set, []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	var x, y1, y2, z []float64
	var runs []string
	var part []triplets.Part
	for _, u := range values {
		for a := range 9 {
			alpha := float64(4*a - 16)
			mean := math.Sin(alpha/20)*(1+0.1*math.Log(u)) + 0.05*math.Sqrt(u)
			x = append(x, alpha, u)
			y1, y2 = append(y1, mean+0.02*rng.NormFloat64()), append(y2, mean+0.02*rng.NormFloat64())
			z = append(z, u)
			runs = append(runs, string(rune('a'+len(runs))))
			p := triplets.Train
			if u == test {
				p = triplets.Test
			}
			part = append(part, p)
		}
	}
	s := triplets.New([]triplets.Quantity{{Name: "alpha_deg"}, {Name: "u_inf_m_s"}}, []triplets.Quantity{{Name: "cl"}}, x,
		y1, y2)
	s.SetRuns(runs)
	s.Recording, s.Part = runs, part
	train := s.Of(triplets.Train)
	s.Scale = triplets.ScaleOf(1, train.Y1, train.Y2)
	return s, z
}

// Calibrated is the same by the name of an input, with the default settings.
func TestCalibrated(t *testing.T) {
	s, z := speeds([]float64{4, 6, 8, 10, 12}, 8)
	l := honest.Learner{Condition: "u_inf_m_s", Rate: isRate}
	l.Base, l.Form, l.Variant, l.Level = "gp", "auto", "E", 0.95
	want, _, err := l.Process(context.Background(), s, z)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Calibrated(context.Background(), s, "u_inf_m_s")
	if err != nil || !reflect.DeepEqual(got.Calibration, want.Calibration) {
		t.Errorf("%+v, %v, expected %+v", got, err, want.Calibration)
	}
	if _, err := Calibrated(context.Background(), s, "blades"); err == nil ||
		!strings.Contains(err.Error(), "blades is no input") {
		t.Errorf("of no input: %v", err)
	}
}

// The groups of a split are those of its condition, or of the one that is named.
func TestHonestCondition(t *testing.T) {
	for _, c := range []struct {
		h    honest.Settings
		test holdout.Holdout
		want string
	}{
		{honest.Settings{Base: "none"}, holdout.Values("blades", 2), ""},
		{honest.Settings{Base: "gp"}, holdout.Values("blades", 2), "blades"},
		{honest.Settings{Base: "gp", Groups: "rpm"}, holdout.Values("blades", 2), "rpm"},
		{honest.Settings{Base: "gp"}, holdout.All(holdout.Values("blades", 2), holdout.Values("rpm", 1)), ""},
	} {
		condition, absent := HonestCondition(c.h, config.Split{Test: c.test})
		if condition != c.want || (absent == "") != (c.want != "") {
			t.Errorf("%+v: %q, %q; expected %q", c.h, condition, absent, c.want)
		}
	}
}
