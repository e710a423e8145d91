package balance

import (
	"testing"

	"doubletake/ingest/setting"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A component may have a sign before its name.
func TestComponent(t *testing.T) {
	for value, want := range map[string]struct {
		name string
		sign float64
	}{"Fx": {"Fx", 1}, "-Fz": {"Fz", -1}, "+My": {"My", 1}} {
		name, sign := Component(value)
		assert.Equal(t, want.name, name, value)
		assert.Equal(t, want.sign, sign, value)
	}
}

// A balance of voltages reads the columns of its voltages, of the angle, of the flow, and of outcomes that are not
// loads. It reads each column once, and no column of an angle that is a condition. Without a balance, the columns of
// the outcomes are read.
func TestBalanceColumns(t *testing.T) {
	campaign := &setting.Campaign{
		Columns: []setting.NamedString{{Name: "fx_n", Value: "-Fx"}, {Name: "t_c", Value: "T"}, {Name: "u", Value: "pitot"}},
		Balance: &setting.Balance{
			Voltages: []string{"v1", "v2"}, Components: []string{"Fx", "Fz"}, Angle: "arm",
			Flow: &setting.Flow{Column: "pitot", Pressure: "p", Temperature: "T"},
		},
	}

	assert.Equal(t, []string{"v1", "v2", "arm", "pitot", "p", "T"}, columnsRead(campaign, nil))

	conditions := []string{"arm"}
	assert.Equal(t, []string{"v1", "v2", "pitot", "p", "T"}, columnsRead(campaign, conditions))
	assert.False(t, AngleColumn(campaign.Balance, conditions), "the angle is a column")

	campaign.Balance = nil
	assert.Equal(t, []string{"-Fx", "T", "pitot"}, columnsRead(campaign, nil), "without a balance")
}

// A balance whose columns are forces becomes a balance of voltages with the identity matrix, in a copy: the settings
// that were given stay as they are. A balance of voltages is left unchanged.
func TestAddIdentityMatrix(t *testing.T) {
	original := &setting.Balance{Tare: &setting.Tare{File: "off.csv"}}
	campaign := &setting.Campaign{Balance: original, Columns: []setting.NamedString{
		{Name: "fx_n", Value: "Fx"},
		{Name: "fz_n", Value: "-Fz"},
	}}

	require.True(t, addIdentityMatrix(campaign))

	forces := []string{"Fx", "Fz"}
	assert.Equal(t, forces, campaign.Balance.Voltages)
	assert.Equal(t, forces, campaign.Balance.Components)
	assert.Equal(t, []float64{0, 1}, campaign.Balance.Matrix[1])
	assert.NotNil(t, campaign.Balance.Tare)

	assert.Empty(t, original.Voltages, "voltages of the given settings")
	assert.Empty(t, original.Matrix, "matrix of the given settings")
	assert.False(t, addIdentityMatrix(campaign), "a balance that has voltages")
	assert.False(t, addIdentityMatrix(&setting.Campaign{}), "a campaign without a balance")
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
