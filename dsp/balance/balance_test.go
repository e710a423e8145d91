package balance

import (
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

// A balance of voltages reads its voltages, the angle if that is a column, the columns of the flow, and then outcomes
// that are not loads. It reads each column once.
func TestBalanceColumns(t *testing.T) {
	campaign := &setting.Campaign{
		Columns: []setting.NamedString{{Name: "fx_n", Value: "-Fx"}, {Name: "t_c", Value: "T"}, {Name: "u", Value: "pitot"}},
		Balance: &setting.Balance{
			Voltages: []string{"v1", "v2"}, Components: []string{"Fx", "Fz"}, Angle: "arm",
			Flow: &setting.Flow{Column: "pitot", Pressure: "p", Temperature: "T"},
		},
	}

	assert.Equal(t, []string{"v1", "v2", "arm", "pitot", "p", "T"}, columnsRead(campaign, nil), "got")

	arm := []string{"arm"}
	assert.NotContains(t, columnsRead(campaign, arm), "arm", "the arm's angle is a condition")
	assert.False(t, AngleColumn(campaign.Balance, arm), "the arm's angle is a condition")

	campaign.Balance = nil
	assert.Equal(t, []string{"-Fx", "T", "pitot"}, columnsRead(campaign, nil), "without a balance")
}

// Columns with forces are a balance of voltages with the unit matrix; the
// configuration stays as it was.
func TestMeasuresForces(t *testing.T) {
	original := &setting.Balance{Tare: &setting.Tare{File: "off.csv"}}
	campaign := &setting.Campaign{Balance: original, Columns: []setting.NamedString{
		{Name: "fx_n", Value: "Fx"},
		{Name: "fz_n", Value: "-Fz"},
	}}

	require.True(t, addIdentityMatrix(campaign), "no forces")

	forces := []string{"Fx", "Fz"}
	assert.Equal(t, forces, campaign.Balance.Voltages)
	assert.Equal(t, forces, campaign.Balance.Components)
	assert.Equal(t, []float64{0, 1}, campaign.Balance.Matrix[1])
	assert.NotNil(t, campaign.Balance.Tare)

	require.Empty(t, original.Voltages, "the configuration changed: %+v", original)
	assert.Empty(t, original.Matrix, "the configuration changed: %+v", original)
	require.False(t, addIdentityMatrix(campaign), "voltages are taken for forces")
	assert.False(t, addIdentityMatrix(&setting.Campaign{}), "voltages are taken for forces")
}

// Conditions or columns of the flow may give the density of the air.
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
		campaign := &setting.Campaign{Balance: &setting.Balance{Flow: c.flow}}
		assert.Equal(t, c.want, airKnown(campaign, c.conditions), "%v, %+v", c.conditions, c.flow)
	}

	assert.False(t, airKnown(&setting.Campaign{}, nil), "known of nothing")
}

// Every coefficient that a load becomes has a lever arm, and other outcomes have none.
func TestLeverArm(t *testing.T) {
	for load, coefficient := range CoefficientOf {
		_, isCoefficient := LeverArm(coefficient)
		assert.True(t, isCoefficient, load)
	}

	_, isCoefficient := LeverArm("cost")
	assert.False(t, isCoefficient, "an outcome that only begins like a coefficient")
}
