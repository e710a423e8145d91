package score

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A model that claims a third of its total variance and four times its
// covariance is put right on fresh data; limits are four standard errors of a
// mean of n squared normals.
func TestRecalibrate(t *testing.T) {
	const n = 4000
	s, total, v := honest(21, n, 4)
	for k := range total {
		total[k] /= 3
	}
	r, err := Recalibrate(s, total, v)
	if err != nil {
		t.Fatal(err)
	}
	o := r.Outcomes[0]
	if se := 3 * math.Sqrt(2.0/n); math.Abs(o.TotalFactor-3) > 4*se {
		t.Errorf("σ-scaling %v, want 3 ± %v", o.TotalFactor, se)
	}
	if o.CovFactor == nil || math.Abs(*o.CovFactor-0.25) > 0.04 {
		t.Errorf("covariance factor %v, want 0.25", o.CovFactor)
	}
	if r.Rows != n || r.Runs != n {
		t.Errorf("%d rows, %d runs", r.Rows, r.Runs)
	}
	fresh, ft, fv := honest(22, n, 4)
	for k := range ft {
		ft[k] /= 3
	}
	before := Judge(fresh, ft, fv)
	for _, kind := range []string{Scaled, Isotonic} {
		nt, nv := r.Apply(kind, ft, fv)
		after := Judge(fresh, nt, nv)
		if after.NLL >= before.NLL || after.ENCE > 0.08 || before.ENCE < 0.5 || math.Abs(after.SumERatio-1) > 5*after.SumERatioSE {
			t.Errorf("%s: NLL %v → %v, ENCE %v → %v, Σe/ΣC %v → %v ± %v", kind, before.NLL, after.NLL, before.ENCE, after.ENCE, before.SumERatio, after.SumERatio, after.SumERatioSE)
		}
	}
	b, err := json.Marshal(r)
	var back Recalibration
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil || !reflect.DeepEqual(back, *r) {
		t.Errorf("read back %+v, %v", back, err)
	}
}

// By hand: bins of ten equal x each; means 1, 4, 2, 5; pooling 4 and 2 to 3.
func TestIsotonicByHand(t *testing.T) {
	var x, y []float64
	for b, m := range []float64{1, 4, 2, 5} {
		for i := range 10 {
			x, y = append(x, float64(b)), append(y, m+float64(i)-4.5)
		}
	}
	want := Curve{X: []float64{0, 1.5, 3}, Y: []float64{1, 3, 5}}
	if c := isotonic(x, y, 0); !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, want %+v", c, want)
	}
	for _, p := range [][2]float64{{-7, 1}, {0, 1}, {0.75, 2}, {2.25, 4}, {3, 5}, {6, 10}} {
		if got := want.At(p[0]); math.Abs(got-p[1]) > 1e-12 {
			t.Errorf("at %v: %v, want %v", p[0], got, p[1])
		}
	}
}

// Whatever the data, the curve never falls, and its mean over the bins it was
// made of is that of the data (a property of isotonic regression).
func TestIsotonicInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		x := rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(t, "y")
		c := isotonic(x, y, math.Inf(-1))
		for i := 1; i < len(c.X); i++ {
			if c.Y[i] <= c.Y[i-1] || c.X[i] <= c.X[i-1] {
				t.Fatalf("not increasing: %+v", c)
			}
		}
		for _, v := range x {
			if math.IsNaN(c.At(v)) {
				t.Fatalf("no value at %v of %+v", v, c)
			}
		}
	})
}

func TestRecalibrateErrors(t *testing.T) {
	s, total, v := honest(1, 30, 1)
	few := Set{N: 3, Out: 1, Y1: s.Y1[:3], Y2: s.Y2[:3], Mu: s.Mu[:3]}
	if _, err := Recalibrate(few, total[:3], v[:3]); err == nil || !strings.Contains(err.Error(), "at least 10") {
		t.Errorf("three rows: %v", err)
	}
	s.Training = true
	if _, err := Recalibrate(s, total, v); err == nil || !strings.Contains(err.Error(), "trained on") {
		t.Errorf("training pairs: %v", err)
	}
	s.Training, s.Couples = false, true
	r, err := Recalibrate(s, total, v)
	if err != nil || r.Outcomes[0].CovFactor != nil || !strings.Contains(r.Outcomes[0].CovWhyNot, "couples") {
		t.Errorf("couples: %+v, %v", r, err)
	}
	if _, c := r.Apply(Isotonic, total, v); !reflect.DeepEqual(c, v) {
		t.Error("a covariance that could not be calibrated was changed")
	}
	total[4] = 0
	if _, err := Recalibrate(s, total, v); err == nil || !strings.Contains(err.Error(), "row 4") {
		t.Errorf("no variance: %v", err)
	}
}
