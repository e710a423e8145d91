package report

import (
	"math"
	"strings"
	"testing"

	"doubletake/report/figure"
)

// found returns the figure of a name, with all points.
func found(t *testing.T, d *Detail, name string) *figure.Figure {
	t.Helper()

	for _, p := range plots(d, inFiles) {
		if p.file == name {
			return p.fig
		}
	}

	t.Fatalf("no figure %s", name)

	return nil
}

// series is the mark of a panel whose name begins so.
func series(t *testing.T, p figure.Panel, name string) figure.Mark {
	t.Helper()

	for _, m := range p.Marks {
		if strings.HasPrefix(m.Name, name) {
			return m
		}
	}

	t.Fatalf("panel %q has no series %s", p.Title, name)

	return figure.Mark{}
}

// The left panel of a map is √C of its grid, undefined where C ≤ 0; the right one the
// distance of the mean over seeds from the mean of the pairs, at the map's place
// alone; both have one scale.
func TestMapNumbers(t *testing.T) {
	d := campaign(4, 15, 13, 1, 3)
	f := found(t, d, "2-blades-map")
	g, s := d.Splits[0].Maps[0], d.Splits[0]

	claim, right := f.Panels[0], f.Panels[1]
	if claim.ZMin != right.ZMin || claim.ZMax != right.ZMax || claim.ZLabel != right.ZLabel {
		t.Errorf("scales %v to %v %s, and %v to %v %s", claim.ZMin, claim.ZMax, claim.ZLabel, right.ZMin, right.ZMax,
			right.ZLabel)
	}

	undefined := 0
	for k, z := range series(t, claim, "√C").Z {
		if g.Cov[k] <= 0 {
			undefined++
		}

		if g.Cov[k] <= 0 != math.IsNaN(z) || z*z-g.Cov[k] > 1e-12 {
			t.Fatalf("cell %d: %v of C %v", k, z, g.Cov[k])
		}
	}

	if undefined == 0 {
		t.Fatal("the fixture has no C ≤ 0")
	}

	e := series(t, right, "error")
	if len(e.Z) != 15*13 { // of two blades
		t.Errorf("%d conditions", len(e.Z))
	}

	largest := 0.0
	for i, z := range e.Z {
		c := int((e.X[i]-2000)/500)*13 + int(math.Round((e.Y[i]+60)/10)) // two blades come first

		mu := 0.0
		for _, seed := range s.Seeds {
			mu += seed.Mu[c*5] / 3
		}

		if want := math.Abs((d.Y1[c*5]+d.Y2[c*5])/2 - mu); math.Abs(z-want) > 1e-12 {
			t.Fatalf("at %v, %v: %v, want %v", e.X[i], e.Y[i], z, want)
		}

		largest = math.Max(largest, z)
	}

	if right.ZMax < largest {
		t.Errorf("the scale ends at %v below %v", right.ZMax, largest)
	}
}

// The RMSE at a panel of parity by hand: with two seeds that are wrong by 3 and 1 and
// pairs without noise it is 2, the mean of both; residuals are their mean with sign.
func TestParityNumbers(t *testing.T) {
	d := campaign(4, 2, 5, 1, 2)
	copy(d.Y2, d.Y1)
	copy(d.Mean, d.Y1)

	for k, wrong := range []float64{3, 1} {
		for i, y := range d.Mean {
			d.Splits[0].Seeds[k].Mu[i] = y - wrong
		}
	}

	f := found(t, d, "2-blades-parity")
	if f.Columns != 3 || len(f.Panels) != 12 || !f.Stacked { // five outcomes and a blank place, twice
		t.Fatalf("%d columns, %d panels", f.Columns, len(f.Panels))
	}

	above, below := f.Panels[0], f.Panels[3]
	if !above.Square || above.X.Min != above.Y.Min || above.X.Max != above.Y.Max || above.X.Min != below.X.Min {
		t.Errorf("axes %+v, %+v, %+v", above.X, above.Y, below.X)
	}

	if name := series(t, above, "held out").Name; name != "held out, RMSE 2.0 dB" {
		t.Errorf("%q", name)
	}

	for _, r := range series(t, below, "residual, held out").Y {
		if math.Abs(r-2) > 1e-9 {
			t.Errorf("residual %v", r)
		}
	}

	if below.Y.Min != -below.Y.Max || !strings.HasSuffix(below.Y.Label, "(dB)") {
		t.Errorf("strip %+v", below.Y)
	}
}

// Medians over three seeds by hand; a bin whose covariance or error has no place on
// logarithmic axes is marked at the edge, with the number that has one.
func TestBinsNumbers(t *testing.T) {
	d := campaign(4, 2, 5, 1, 3)
	d.Splits[0].Bins = [][]Bin{
		{{Cov: 0.002, E: 0.3, SE: 0.1}, {Cov: 0.01, E: -0.1, SE: 0.1}, {Cov: -0.02, E: 0.4, SE: 0.1}},
		{{Cov: 0.004, E: 0.5, SE: 0.1}, {Cov: 0.02, E: 0.7, SE: 0.1}, {Cov: 0.05, E: 0.6, SE: 0.1}},
		{{Cov: 0.003, E: 0.9, SE: 0.1}, {Cov: 0.03, E: 0.8, SE: math.NaN()}, {Cov: 0.06, E: 0.2, SE: 0.1}},
	}

	p := found(t, d, "2-blades-calibration").Panels[1]
	m := series(t, p, "median")
	for i, want := range [][2]float64{{0.003, 0.5}, {0.02, 0.7}, {0.05, 0.4}} {
		if m.X[i] != want[0] || m.Y[i] != want[1] {
			t.Errorf("median %d: %v, %v", i, m.X[i], m.Y[i])
		}
	}

	if p.X.Min != 0.001 || p.X.Max != 1 || p.Y.Min != 0.001 || !p.X.Log { // whole decades about the medians
		t.Errorf("axes from %v to %v", p.X.Min, p.X.Max)
	}

	lost := series(t, p, "bins beyond")
	if len(lost.X) != 1 || lost.X[0] != 0.01 || len(lost.Y) != 1 || lost.Y[0] != 0.4 {
		t.Errorf("at the edges %v and %v", lost.X, lost.Y)
	}

	if all := series(t, p, "bins of C"); len(all.X) != 9 {
		t.Errorf("%d bins", len(all.X))
	}
}

// −log p of a standard normal at 0 is ½ log 2π, at one deviation ½ more. The held-out
// loss is drawn where it was taken.
func TestTrainingNumbers(t *testing.T) {
	d := campaign(4, 2, 5, 1, 1)
	s := &d.Splits[0]
	for c, held := range s.Test {
		for k := range 5 {
			s.Seeds[0].Mu[c*5+k], s.Seeds[0].Var[c*5+k] = d.Y1[c*5+k], 1
			d.Y2[c*5+k] = d.Y1[c*5+k]
			if held {
				s.Seeds[0].Mu[c*5+k]++
			}
		}
	}

	s.Seeds[0].HeldOutLoss = make([]float64, len(s.Seeds[0].Loss))
	for i := range s.Seeds[0].HeldOutLoss {
		s.Seeds[0].HeldOutLoss[i] = math.NaN()
		if i%10 == 9 {
			s.Seeds[0].HeldOutLoss[i] = float64(i)
		}
	}

	panels := found(t, d, "2-blades-training").Panels
	if got := panels[1].Marks[0]; panels[1].Title != "Held-out pairs" || len(got.X) != 50 || got.X[0] != 10 ||
		got.Y[0] != 9 || got.X[49] != 500 {
		t.Errorf("held-out loss: %+v", got)
	}

	p := panels[2]

	half := math.Log(2*math.Pi) / 2
	for name, want := range map[string]float64{"pairs trained on": half, "held-out pairs": half + 0.5} {
		if got := series(t, p, name).Y; len(got) != 1 || math.Abs(got[0]-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// The mean line of the spectrum is the mean power: of 20 and 30 dB
// 10·log10((100 + 1000)/2) = 27.4036 dB; the band's edges are the halves.
func TestSpectrumBand(t *testing.T) {
	d := campaign(2, 2, 5, 1, 1)
	d.Shown.Level = [2][]float64{{0, 20, 25}, {0, 30, 24}}
	p := found(t, d, "spectrum").Panels[0]
	mean, band := series(t, p, "mean of both"), series(t, p, "between")
	if math.Abs(mean.Y[0]-27.403626894942438) > 1e-9 || band.Lo[0] != 20 || band.Hi[0] != 30 || band.Lo[1] != 24 {
		t.Errorf("mean %v, band %v to %v", mean.Y, band.Lo, band.Hi)
	}

	if series(t, p, "first half").Y[1] != 25 || series(t, p, "second half").Y[1] != 24 {
		t.Error("the halves are not there")
	}
}

// Crosses are at the angles where C ≤ 0, in every panel.
func TestDirectivityCrosses(t *testing.T) {
	d := campaign(4, 2, 5, 1, 1)
	cov := d.Splits[0].Seeds[0].Cov
	for i := range cov {
		cov[i] = 1
	}

	cov[((1*2+1)*5+3)*5] = -1 // three blades, second speed, fourth angle, first outcome

	f := found(t, d, "2-blades-directivity-bpf1_db-rpm-2500")
	if len(f.Panels) != 4 || !f.Shared {
		t.Fatalf("%d panels", len(f.Panels))
	}

	for i, p := range f.Panels {
		n := 0
		for _, m := range p.Marks {
			if m.Kind == figure.Edge {
				n += len(m.X)
				if i != 1 || m.X[0] != 30 {
					t.Errorf("panel %d: crosses at %v", i, m.X)
				}
			}
		}

		if p.Y.Min != f.Panels[0].Y.Min || p.Y.Max != f.Panels[0].Y.Max || i == 1 && n != 1 {
			t.Errorf("panel %d: %d crosses, axis %+v", i, n, p.Y)
		}
	}
}

// The conditions of a place are written with their units; blades are counted.
func TestPlace(t *testing.T) {
	q := []Quantity{{Name: "blades"}, {Name: "rpm", Unit: "1/min"}, {Name: "theta_deg", Unit: "deg"}, {Name: "tip"}}
	at := []float64{3, 5000, -12.5, 0.5}
	if got := place(q, at, others(4)); got != "3 blades, shaft speed 5000 1/min, polar angle θ −12.5 deg, tip = 0.5" {
		t.Errorf("%q", got)
	}

	if got := place(q, at, []int{0}); got != "3 blades" {
		t.Errorf("%q", got)
	}
}
