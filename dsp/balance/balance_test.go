package balance

import (
	"slices"
	"testing"

	"doubletake/ingest/setting"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestComponent(t *testing.T) {
	for value, want := range map[string]struct {
		name string
		sign float64
	}{"Fx": {"Fx", 1}, "-Fz": {"Fz", -1}, "+My": {"My", 1}} {
		if name, sign := Component(value); name != want.name || sign != want.sign {
			t.Errorf("%s: %s, %g", value, name, sign)
		}
	}
}

// Of a balance of voltages the columns read are the voltages, the angle where it
// is a column, the flow's, then outcomes that are no loads; each once.
func TestBalanceColumns(t *testing.T) {
	in := &setting.Campaign{
		Columns: []setting.NamedString{{Name: "fx_n", Value: "-Fx"}, {Name: "t_c", Value: "T"}, {Name: "u", Value: "pitot"}},
		Balance: &setting.Balance{
			Voltages: []string{"v1", "v2"}, Components: []string{"Fx", "Fz"}, Angle: "arm",
			Flow: &setting.Flow{Column: "pitot", Pressure: "p", Temperature: "T"},
		},
	}

	assert.Equal(t, []string{"v1", "v2", "arm", "pitot", "p", "T"}, columnsRead(in, nil), "got")

	arm := []string{"arm"}
	if got := columnsRead(in, arm); slices.Contains(got, "arm") || AngleColumn(in.Balance, arm) {
		t.Errorf("%v: the arm's angle is a condition", got)
	}

	in.Balance = nil
	assert.Equal(t, []string{"-Fx", "T", "pitot"}, columnsRead(in, nil), "without a balance")
}

// Columns with forces are a balance of voltages with the unit matrix; the
// configuration stays as it was.
func TestMeasuresForces(t *testing.T) {
	original := &setting.Balance{Tare: &setting.Tare{File: "off.csv"}}
	in := &setting.Campaign{Balance: original, Columns: []setting.NamedString{
		{Name: "fx_n", Value: "Fx"},
		{Name: "fz_n", Value: "-Fz"},
	}}

	require.True(t, addIdentityMatrix(in), "no forces")

	if b := in.Balance; !slices.Equal(b.Voltages, []string{"Fx", "Fz"}) || !slices.Equal(b.Components, b.Voltages) ||
		!slices.Equal(b.Matrix[1], []float64{0, 1}) || b.Tare == nil {
		t.Errorf("%+v", b)
	}

	require.Empty(t, original.Voltages, "the configuration changed: %+v", original)
	assert.Empty(t, original.Matrix, "the configuration changed: %+v", original)
	require.False(t, addIdentityMatrix(in), "voltages are taken for forces")
	assert.False(t, addIdentityMatrix(&setting.Campaign{}), "voltages are taken for forces")
}

// The air's density is known by conditions, or by columns of the flow.
func TestAirKnown(t *testing.T) {
	for _, c := range []struct {
		conditions []string
		flow       *setting.Flow
		want       bool
	}{
		{nil, nil, false},
		{[]string{"pressure_pa"}, nil, false},
		{[]string{"pressure_pa", "temperature_c"}, nil, true},
		{[]string{"q_pa"}, nil, true},
		{[]string{"density_kg_m3"}, nil, true},
		{nil, &setting.Flow{Quantity: "u_m_s"}, false},
		{nil, &setting.Flow{Quantity: "q_pa"}, true},
		{nil, &setting.Flow{Pressure: "p"}, true},
	} {
		in := &setting.Campaign{Balance: &setting.Balance{Flow: c.flow}}
		assert.Equal(t, c.want, airKnown(in, c.conditions), "%v, %+v", c.conditions, c.flow)
	}

	assert.False(t, airKnown(&setting.Campaign{}, nil), "known of nothing")
}
