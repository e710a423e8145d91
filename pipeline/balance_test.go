package pipeline_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Forces with the speed (or the dynamic pressure), the pressure and the
// temperature of the air measured with them, which vary from sample to sample.
// Expected, by docs/method.md#random-samples: c_L = L/(½ρU²·c·b) of each sample, or
// of the run's means; ρ = p/(287.05·(t + 273.15)); half-means of that.
func TestMeasuredBesideTheBalance(t *testing.T) {
	const n, chord, span, blockage = 40, 0.1, 0.25, 0.02
	row := func(i int) (lift, u, q, p, temp float64) {
		f := float64(i)
		return 2 + 0.1*f, 10 + 0.2*f, 70 + f, 1e5 + 50*f, 15 + 0.25*f
	}

	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("lift (N),drag (N),u,q,p,temp\n")

	for i := range n {
		lift, u, q, p, temp := row(i)
		fmt.Fprintf(&b, "%g,%g,%g,%g,%g,%g\n", lift, lift/8, u, q, p, temp)
	}

	write(t, dir, "run.csv", b.String())
	const yaml = `version: 1
experiments:
  wing:
    ingest:
      files: run.csv
      constants: {alpha_deg: 3%s}
      rate_hz: 10
      columns: {lift_n: lift, drag_n: drag}
      balance: {flow: {%s}, blockage: %g}
    dsp: {triplets: split-halves, chord_m: 0.1, span_m: 0.25%s}
`

	density := func(p, temp float64) float64 { return p / (287.05 * (temp + 273.15)) }

	means := [5]float64{}
	for i := range n {
		l, u, q, p, temp := row(i)
		for k, v := range []float64{l, u, q, p, temp} {
			means[k] += v / n
		}
	}

	for _, c := range []struct {
		name, constants, flow, density string
		q                              func(u, q, p, temp float64) float64 // of the sample's values
	}{
		{
			"U, p and t per sample", "", "column: u, pressure: p, temperature: temp, per: sample", "",
			func(u, _, p, temp float64) float64 { return density(p, temp) * u * u / 2 },
		},
		{
			"U, p and t per run", "", "column: u, pressure: p, temperature: temp, per: run", "",
			func(_, _, _, _ float64) float64 { return density(means[3], means[4]) * means[1] * means[1] / 2 },
		},
		{
			"U per sample, a density", "", "column: u, per: sample", ", density_kg_m3: 1.2",
			func(u, _, _, _ float64) float64 { return 1.2 * u * u / 2 },
		},
		{
			"U per sample, p and t of the run", ", pressure_pa: 99000, temperature_c: 22", "column: u, per: sample", "",
			func(u, _, _, _ float64) float64 { return density(99000, 22) * u * u / 2 },
		},
		{"q per sample", "", "column: q, quantity: q_pa, per: sample", "", func(_, q, _, _ float64) float64 { return q }},
		{"q per run", "", "column: q, quantity: q_pa", "", func(_, _, _, _ float64) float64 { return means[2] }},
		{
			"U a condition, p and t per sample", ", u_inf_m_s: 12", "pressure: p, temperature: temp, per: sample", "",
			func(_, _, p, temp float64) float64 { return density(p, temp) * 12 * 12 / 2 },
		},
	} {
		tab := tripletsOf(t, dir, "wing", fmt.Sprintf(yaml, c.constants, c.flow, blockage, c.density))
		for h := range 2 {
			want := 0.0
			for i := h * n / 2; i < (h+1)*n/2; i++ {
				l, u, q, p, temp := row(i)
				want += l / (c.q(u, q, p, temp) * (1 + blockage) * (1 + blockage) * chord * span) / (n / 2)
			}

			for name, of := range map[string]float64{"cl": 1, "cd": 1. / 8} {
				assert.InDelta(t, of*want, column(t, tab, fmt.Sprintf("%s_%d", name, h+1))[0], 1e-9,
					"%s: %s, half %d", c.name, name, h+1)
			}
		}
	}

	for _, c := range []struct{ flow, want string }{
		{"column: u, pressure: p", "expected pressure and temperature"},
		{"per: sample", "expected column: the sensor's column, or pressure and temperature"},
		{"column: speed", `expected a channel "speed"`},
	} {
		assertRefuses(t, dir, fmt.Sprintf(yaml, "", c.flow, blockage, ", density_kg_m3: 1.2"), c.want)
	}

	write(t, dir, "pipeline.yaml", strings.Replace(fmt.Sprintf(yaml, "", "column: u", blockage, ", density_kg_m3: 1.2"),
		"balance: {", "balance: {components: [A], ", 1))

	assert.ErrorContains(t, tryIn(dir), "belongs to a balance of voltages")
}

// Zero and weight of a model from a polar without wind, over the angle of the arm
// in a column: Fx reads 0.3 + 5 sin α, Fz −0.2 + 5 cos α there, and with wind 2 and
// 10 N more. Expected: L = 10 cos α − 2 sin α, D = 2 cos α + 10 sin α, at an angle the
// polar has no sample of; the columns hold forces, in the file's N.
func TestGravityTareOfForces(t *testing.T) {
	dir := t.TempDir()
	const deg = math.Pi / 180
	var b strings.Builder
	b.WriteString("Fx (N),Fz (N),arm\n")

	for i := range 41 {
		a := float64(i-20) * deg
		fmt.Fprintf(&b, "%.12g,%.12g,%.12g\n", 0.3+5*math.Sin(a), -0.2+5*math.Cos(a), a)
	}

	write(t, dir, "windoff.csv", b.String())

	angles := []float64{-12.5, 7.25}
	for k, alpha := range angles {
		b.Reset()
		b.WriteString("Fx (N),Fz (N),arm\n")

		for i := range 40 {
			a := alpha * deg
			d := 0.5 * float64(1-2*(i%2)) // no mean
			fmt.Fprintf(&b, "%.12g,%.12g,%.12g\n", 0.3+5*math.Sin(a)+2+d, -0.2+5*math.Cos(a)+10-d, a)
		}

		write(t, dir, fmt.Sprintf("run%d.csv", k), b.String())
	}

	for _, how := range []struct {
		interpolation string
		tolerance     float64
	}{{"harmonic", 1e-9}, {"linear", 1e-3}} { // a chord of 1° of 5 cos α is off by 5·(1°)²/8 = 2e-4
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
`, how.interpolation))
		for i, k := range column(t, tab, "k") {
			sin, cos := math.Sincos(angles[int(k)] * deg)
			for name, want := range map[string]float64{"lift_n": 10*cos - 2*sin, "drag_n": 2*cos + 10*sin} {
				for h := 1; h <= 2; h++ {
					assert.InDelta(t, want, column(t, tab, fmt.Sprintf("%s_%d", name, h))[i], how.tolerance,
						"%s at %g°: %s_%d", how.interpolation, angles[int(k)], name, h)
				}

				assert.Equal(t, "N", tab.Column(name+"_1").Unit, "%s in", name)
			}
		}
	}
}
