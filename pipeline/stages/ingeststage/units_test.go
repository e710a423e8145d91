package ingeststage

import (
	"math"
	"slices"
	"testing"

	"doubletake/ingest/campaign"
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/internal/must"
	"doubletake/pipeline/stages/plan"
)

// A microphone's unit of pressure or voltage is taken to Pa or V; others stay.
// Expected: the definitions of the units.
func TestSoundUnit(t *testing.T) {
	for stated, want := range map[string]struct {
		f    float64
		unit string
	}{
		"mPa": {1e-3, "Pa"}, "psi": {6894.757293168362, "Pa"}, "mV": {1e-3, "V"}, "Pa": {1, "Pa"}, "V": {1, "V"},
		"full-scale": {1, "full-scale"}, "": {1, ""}, "m/s": {1, "m/s"},
	} {
		f, unit, how := soundUnit(stated)
		must.Not(t, math.Abs(f/want.f-1) > 1e-12 || unit != want.unit || (how != "") != (want.f != 1),
			"%s: %g %s %q", stated, f, unit, how)
	}
}

// Samples in another unit are copied before they are converted, and a column in
// the unit of its name is passed on.
func TestConvertSeries(t *testing.T) {
	given := []float64{1, 2}
	v, n := ConvertSeries("a.csv", "Fz", "lift_n", "kN", given)
	must.Not(t, !slices.Equal(v, []float64{1000, 2000}) || n.Unit != "N" || given[0] != 1, "%v %+v, given %v", v, n, given)

	if v, _ := ConvertSeries("a.csv", "Fz", "lift_n", "N", given); &v[0] != &given[0] {
		t.Error("samples in the right unit were copied")
	}

	must.Refuse(t, fault.Try(func() { ConvertSeries("a.csv", "Fz", "lift_n", "V", given) }), "a.csv: column Fz: ")
}

// An angle in radians from the axis becomes one in degrees from the plane.
func TestSettle(t *testing.T) {
	n, err := units.ToName("theta_deg", "rad")
	must.Do(t, err)

	src := &plan.Source{Convert: map[string]units.Named{"theta_deg": n}}
	src.In.ThetaFrom = "axis"
	c := map[string]float64{"theta_deg": math.Pi / 3, "rpm": 1}

	set, err := derive.New([]derive.Definition{{Name: "twice", Text: "2*theta_deg"}, {Name: "later", Text: "rpm_tracked"}},
		nil, []string{"theta_deg", "rpm", "rpm_tracked"}, nil, nil)
	must.Do(t, err)

	src.Derive = set
	must.Do(t, settle(src, c, nil))

	must.Not(t, math.Abs(c["theta_deg"]-30) > 1e-12 || c["rpm"] != 1 || math.Abs(c["twice"]-60) > 1e-12 || len(c) != 3,
		"%v", c)

	table, err := campaign.ParseConditions("c.csv", []byte("file,theta_deg [rad],rpm [Hz]\na,0.5,50\n"),
		campaign.LogOptions{Units: map[string]string{"rpm": "1/min"}})
	must.Do(t, err)

	how := table.Converted
	if v := table.Rows[0].States; math.Abs(v[0].Value-28.64788975654116) > 1e-12 || v[1].Value != 50 ||
		how["theta_deg"] == "" || how["rpm"] != "" {
		t.Errorf("%v %v", v, how)
	}
}
