package campaign

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/ingest/derive"
	"doubletake/ingest/setting"
	"doubletake/ingest/units"
)

// An angle in radians from the axis becomes one in degrees from the plane.
func TestConvert(t *testing.T) {
	n, err := units.ToName("theta_deg", "rad")
	require.NoError(t, err)

	source := &Source{Settings: &setting.Campaign{ThetaFrom: "axis"}, Convert: map[string]units.Named{"theta_deg": n}}
	c := map[string]float64{"theta_deg": math.Pi / 3, "rpm": 1}

	set, err := derive.New([]derive.Definition{{Name: "twice", Text: "2*theta_deg"}, {Name: "later", Text: "rpm_tracked"}},
		nil, []string{"theta_deg", "rpm", "rpm_tracked"}, nil, nil)
	require.NoError(t, err)

	source.Derive = set
	require.NoError(t, source.convert(c, nil))

	if math.Abs(c["theta_deg"]-30) > 1e-12 || c["rpm"] != 1 || math.Abs(c["twice"]-60) > 1e-12 || len(c) != 3 {
		t.Errorf("%v", c)
	}

	table, err := ParseConditions("c.csv", []byte("file,theta_deg [rad],rpm [Hz]\na,0.5,50\n"),
		LogOptions{Units: map[string]string{"rpm": "1/min"}})
	require.NoError(t, err)

	how := table.Converted
	if v := table.Rows[0].States; math.Abs(v[0].Value-28.64788975654116) > 1e-12 || v[1].Value != 50 ||
		how["theta_deg"] == "" || how["rpm"] != "" {
		t.Errorf("%v %v", v, how)
	}
}
