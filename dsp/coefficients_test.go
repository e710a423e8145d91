package dsp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Expected: the definition of the axes. At an angle of 90°, lift is −F_x and drag is F_z. The angle does not change the
// magnitude of the force.
func TestWindAxes(t *testing.T) {
	for _, c := range []struct{ fx, fz, alpha, lift, drag float64 }{
		{1, 2, 0, 2, 1},
		{1, 2, 90, -1, 2},
		{0, 1, 30, math.Sqrt(3) / 2, 0.5},
		{1, 0, -30, 0.5, math.Sqrt(3) / 2},
	} {
		lift, drag := WindAxes(c.fx, c.fz, c.alpha)
		assert.InDelta(t, c.lift, lift, 1e-15, "%+v: lift", c)
		assert.InDelta(t, c.drag, drag, 1e-15, "%+v: drag", c)
		assert.InDelta(t, math.Hypot(c.fx, c.fz), math.Hypot(lift, drag), 1e-15, "%+v: magnitude", c)
	}
}

// Expected: the standard atmosphere has 1.225 kg/m³ at 15 °C and 101 325 Pa. By hand, air of 1.2 kg/m³ at 10 m/s has
// the dynamic pressure ½·1.2·10² = 60 Pa, and a force of 1.5 N on 0.1 m × 0.25 m then has the coefficient 1. The sound
// at half the distance is 20·log10(2) dB louder.
func TestCoefficients(t *testing.T) {
	assert.InDelta(t, 1.225, AirDensity(101325, 15), 1e-4, "density")

	q := DynamicPressure(1.2, 10)
	assert.InDelta(t, 60, q, 1e-12, "dynamic pressure")

	for force, want := range map[float64]float64{1.5: 1, -3: -2} {
		assert.InDelta(t, want, Coefficient(force, q, 0.1, 0.25), 1e-12, "%g N: coefficient", force)
	}

	assert.InDelta(t, 6.0206, DistanceDB(2, 1), 1e-4, "from 2 m to 1 m")
}

// Expected by hand: a force of 2 N upwards at the origin has a pitching moment of −2·0.1 N·m about a point 0.1 m in
// front of the origin, at x = −0.1 m.
func TestMomentsAbout(t *testing.T) {
	moments := [3][]float64{{0, 0}, {1, 0}, nil}
	forces := [3][]float64{nil, nil, {2, 2}}
	MomentsAbout(moments, forces, [3]float64{-0.1, 0, 0})
	assert.Equal(t, [3][]float64{{0, 0}, {0.8, -0.2}, nil}, moments, "moments")

	moments = [3][]float64{{0}, {0}, {0}}
	MomentsAbout(moments, [3][]float64{{1}, {2}, {4}}, [3]float64{1, 1, 1})
	assert.Equal(t, [3][]float64{{-2}, {3}, {-1}}, moments, "moments")
}
