package pipeline_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// airSample is a sample of a balance and of the air beside it.
type airSample struct {
	lift        float64 // N; the drag is an eighth of it
	speed       float64 // m/s
	q           float64 // dynamic pressure in Pa
	pressure    float64 // Pa
	temperature float64 // °C
}

// airSamples returns 40 samples, in which all values rise, and their means.
func airSamples() (samples []airSample, means airSample) {
	const n = 40
	for i := range n {
		x := float64(i)
		samples = append(samples, airSample{2 + 0.1*x, 10 + 0.2*x, 70 + x, 1e5 + 50*x, 15 + 0.25*x})
	}

	for _, s := range samples {
		means.lift += s.lift / n
		means.speed += s.speed / n
		means.q += s.q / n
		means.pressure += s.pressure / n
		means.temperature += s.temperature / n
	}

	return samples, means
}

// dynamicPressure returns ½ρU² in Pa. The density of the air is p/(R T) with R = 287.05 J/(kg K).
func dynamicPressure(pressure, temperature, speed float64) float64 {
	density := pressure / (287.05 * (temperature + 273.15))
	return density * speed * speed / 2
}

// writeAirSamples writes the samples as run.csv.
func writeAirSamples(t *testing.T, dir string, samples []airSample) {
	t.Helper()

	var text strings.Builder
	text.WriteString("lift (N),drag (N),u,q,p,temp\n")
	for _, s := range samples {
		fmt.Fprintf(&text, "%g,%g,%g,%g,%g,%g\n", s.lift, s.lift/8, s.speed, s.q, s.pressure, s.temperature)
	}

	write(t, dir, "run.csv", text.String())
}

// airYAML is the configuration of a balance. Constants, keys of the flow and keys of dsp are inserted.
const airYAML = `version: 1
experiments:
  wing:
    ingest:
      files: run.csv
      constants: {alpha_deg: 3%s}
      rate_hz: 10
      columns: {lift_n: lift, drag_n: drag}
      balance: {flow: {%s}, blockage: 0.02}
    dsp: {triplets: split-halves, chord_m: 0.1, span_m: 0.25%s}
`

// Coefficients are the means over each half of L/(q·c·b), by docs/method.md#random-samples. The dynamic pressure q is
// measured beside the balance, or follows from speed, pressure and temperature, of each sample or of the run's means.
// The walls' blockage of 2 % raises the speed.
func TestMeasuredBesideTheBalance(t *testing.T) {
	const chord, span, speedUp = 0.1, 0.25, 1.02
	dir := t.TempDir()
	samples, means := airSamples()
	writeAirSamples(t, dir, samples)

	for _, c := range []struct {
		name, constants, flow, dsp string
		q                          func(s airSample) float64 // expected, without blockage
	}{
		{
			"U, p and t per sample", "", "column: u, pressure: p, temperature: temp, per: sample", "",
			func(s airSample) float64 { return dynamicPressure(s.pressure, s.temperature, s.speed) },
		},
		{
			"U, p and t per run", "", "column: u, pressure: p, temperature: temp, per: run", "",
			func(airSample) float64 { return dynamicPressure(means.pressure, means.temperature, means.speed) },
		},
		{
			"U per sample, a density", "", "column: u, per: sample", ", density_kg_m3: 1.2",
			func(s airSample) float64 { return 1.2 * s.speed * s.speed / 2 },
		},
		{
			"U per sample, p and t of the run", ", pressure_pa: 99000, temperature_c: 22", "column: u, per: sample", "",
			func(s airSample) float64 { return dynamicPressure(99000, 22, s.speed) },
		},
		{
			"q per sample", "", "column: q, quantity: q_pa, per: sample", "",
			func(s airSample) float64 { return s.q },
		},
		{
			"q per run", "", "column: q, quantity: q_pa", "",
			func(airSample) float64 { return means.q },
		},
		{
			"U a condition, p and t per sample", ", u_inf_m_s: 12", "pressure: p, temperature: temp, per: sample", "",
			func(s airSample) float64 { return dynamicPressure(s.pressure, s.temperature, 12) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			meanCoefficient := func(half []airSample) float64 {
				sum := 0.0
				for _, s := range half {
					sum += s.lift / (c.q(s) * speedUp * speedUp * chord * span)
				}

				return sum / float64(len(half))
			}

			first := meanCoefficient(samples[:len(samples)/2])
			second := meanCoefficient(samples[len(samples)/2:])

			tab := tripletsOf(t, dir, "wing", fmt.Sprintf(airYAML, c.constants, c.flow, c.dsp))
			assert.InDelta(t, first, column(t, tab, "cl_1")[0], 1e-9, "lift, first half")
			assert.InDelta(t, second, column(t, tab, "cl_2")[0], 1e-9, "lift, second half")
			assert.InDelta(t, first/8, column(t, tab, "cd_1")[0], 1e-9, "drag, first half")
			assert.InDelta(t, second/8, column(t, tab, "cd_2")[0], 1e-9, "drag, second half")
		})
	}
}

// A flow that lacks a quantity or a column, and components without voltages, are refused.
func TestFlowFaults(t *testing.T) {
	dir := t.TempDir()
	samples, _ := airSamples()
	writeAirSamples(t, dir, samples)

	for _, c := range []struct{ name, flow, want string }{
		{"pressure alone", "column: u, pressure: p", "expected pressure and temperature"},
		{"no column", "per: sample", "expected column: the sensor's column, or pressure and temperature"},
		{"no such column", "column: speed", `expected a channel "speed"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assertRefuses(t, dir, fmt.Sprintf(airYAML, "", c.flow, ", density_kg_m3: 1.2"), c.want)
		})
	}

	yaml := fmt.Sprintf(airYAML, "", "column: u", ", density_kg_m3: 1.2")
	assertRefuses(t, dir, strings.Replace(yaml, "balance: {", "balance: {components: [A], ", 1),
		"belongs to a balance of voltages")
}

// gravity returns the forces in N that a balance reads without wind at an angle in rad: its zeros, and the weight of a
// model of 5 N, which turns with the arm.
func gravity(angle float64) (fx, fz float64) {
	return 0.3 + 5*math.Sin(angle), -0.2 + 5*math.Cos(angle)
}

// Zeros and weight of a model are taken from a polar without wind over the angle of the arm, which is a column. With
// wind the balance reads 2 and 10 N more, which are L = 10 cos α − 2 sin α and D = 2 cos α + 10 sin α, at angles that
// the polar has no sample of. Forces have the unit of the file, N.
func TestGravityTareOfForces(t *testing.T) {
	const header, row = "Fx (N),Fz (N),arm\n", "%.12g,%.12g,%.12g\n"
	const degree = math.Pi / 180
	dir := t.TempDir()

	windOff := header
	for alpha := -20; alpha <= 20; alpha++ {
		angle := float64(alpha) * degree
		fx, fz := gravity(angle)
		windOff += fmt.Sprintf(row, fx, fz, angle)
	}

	write(t, dir, "windoff.csv", windOff)

	angles := []float64{-12.5, 7.25} // by the number in the file's name
	for k, alpha := range angles {
		run := header
		for i := range 40 {
			ripple := 0.5 * float64(1-2*(i%2)) // its mean is 0
			fx, fz := gravity(alpha * degree)
			run += fmt.Sprintf(row, fx+2+ripple, fz+10-ripple, alpha*degree)
		}

		write(t, dir, fmt.Sprintf("run%d.csv", k), run)
	}

	for interpolation, tolerance := range map[string]float64{
		"harmonic": 1e-9,
		"linear":   1e-3, // a chord of 1° of 5 cos α is off by 5·(1°)²/8 = 2e-4
	} {
		tab := tripletsOf(t, dir, "wing", fmt.Sprintf(`version: 1
experiments:
  wing:
    ingest:
      files: run*.csv
      pattern: "run{k}.csv"
      rate_hz: 10
      axes: body
      columns: {fx_n: Fx, fz_n: Fz}
      balance: {angle: arm, angle_unit: rad, tare: {file: windoff.csv, interpolation: %s}}
    dsp: {triplets: split-halves}
`, interpolation))
		for i, k := range column(t, tab, "k") {
			alpha := angles[int(k)]
			sin, cos := math.Sincos(alpha * degree)
			for half := 1; half <= 2; half++ {
				lift := column(t, tab, fmt.Sprintf("lift_n_%d", half))[i]
				drag := column(t, tab, fmt.Sprintf("drag_n_%d", half))[i]
				assert.InDelta(t, 10*cos-2*sin, lift, tolerance, "%s at %g°: lift, half %d", interpolation, alpha, half)
				assert.InDelta(t, 2*cos+10*sin, drag, tolerance, "%s at %g°: drag, half %d", interpolation, alpha, half)
			}
		}

		assert.Equal(t, "N", tab.Column("lift_n_1").Unit, "unit of the lift")
		assert.Equal(t, "N", tab.Column("drag_n_1").Unit, "unit of the drag")
	}
}
