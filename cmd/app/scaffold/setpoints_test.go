package scaffold

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// points adds a table of one tunnel speed: a point number, the cells that row writes of each point, the measured speed,
// Mach number and dynamic pressure, whose values repeat by chance, and two coefficients that follow the given values.
func points(rng *rand.Rand, f folder, head string, values []float64, row func(i int) string) {
	f.text("results.csv", "Run_nr,%s,V,M,Q,CL,CD\n", head)
	for i, x := range values {
		v := 54.5 + 0.1*float64(rng.IntN(5))
		f.text("results.csv", "%d,%s,%.1f,%.3f,%.0f,%.4f,%.5f\n", i+1, row(i), v, v/340, 0.6*v*v,
			0.1*x+0.01*rng.NormFloat64(), 0.02+0.001*x*x+0.0005*rng.NormFloat64())
	}
}

// upAndDown returns a sweep up, and down again without the highest value.
func upAndDown(values []float64) []float64 {
	all := values
	for i := len(values) - 2; i >= 0; i-- {
		all = append(all, values[i])
	}

	return all
}

// A set point that was swept is an input, although no value has a repeat, and a measured speed that is constant is not
// the only input: without that, all angles were repeats of one condition. Each table is measured at one tunnel speed,
// unless its name says otherwise, so an engineer reads the swept column as the only setting.
func TestSweptSetPointsAreInputs(t *testing.T) {
	uneven := []float64{-4.1, -2.3, -1.2, 0.4, 1.7, 2.6, 4.3, 5.2, 6.7, 8.1, 9.4, 10.6, 11.2, 12.9, 13.3, 15.8}
	once := func(head string, scale float64) decision { // each value once, read with three decimals
		name, _, _ := strings.Cut(head, " (")
		return decision{
			name: head + ", once", make: func(rng *rand.Rand, f folder) {
				points(rng, f, head, uneven, func(i int) string {
					return fmt.Sprintf("%.3f", scale*(uneven[i]+0.02*rng.NormFloat64()))
				})
			},
			wants: []string{`inputs: ["` + name + `"]`, "no row has a repeat"}, err: noPairs,
		}
	}

	// repeated is a sweep whose readings scatter about set points: their rows are repeats within the tolerance.
	repeated := func(name string, setPoints int, scatter float64, angles []float64) decision {
		return decision{
			name: name, make: func(rng *rand.Rand, f folder) {
				points(rng, f, "Alpha", angles, func(i int) string {
					return fmt.Sprintf("%.3f", angles[i]+scatter*(2*rng.Float64()-1))
				})
			},
			wants: []string{`inputs: ["Alpha"]`, fmt.Sprintf("Alpha: %d set points", setPoints)},
			not:   []string{"no row has a repeat"},
		}
	}

	// Angles of attack of a wing in a public repository: swept up and past the stall, and some of the way back.
	wing := []float64{
		-2, -1, 0, 1, 2, 3, 3.5, 3.995, 4.495, 5, 5.495, 5.995, 6.5, 6.995, 7.5, 8, 8.5, 9, 9.5, 10.505, 11, 11.505, 12, 12.5,
		13.005, 13.505, 14.005, 14.5, 14.995, 15.5, 15.995, 16.5, 17, 17.5, 18, 18, 17.5, 17.005, 16.505, 16.005, 15.5, 15.5,
		15, 14.5, 14,
	}
	degree := math.Pi / 180
	decide(t, []decision{
		once("Alpha", 1), once("AoA", 1), once("α (deg)", 1), once("Anstellwinkel", 1), once("incidence", 1),
		once("angolo", 1), once("alfa", 1), once("hoek", 1), once("Beta", 1), once("β", 1), once("Schiebewinkel", 1),
		once("yaw", 1), once("pitch", 1), once("alpha (rad)", degree), once("flap", 1), once("throttle", 5),
		once("J", 0.05), once("Alpha", -1),
		repeated("a wing up to the stall and back", 35, 0, wing),
		repeated("up and down, ± 0.006", 20, 0.006, upAndDown(sweep(-2, 1, 20))),
		repeated("three polars, ± 0.006", 11, 0.006,
			append(append(sweep(-4, 2, 11), sweep(-4, 2, 11)...), sweep(-4, 2, 11)...)),
		{
			name: "most readings are exact", make: func(rng *rand.Rand, f folder) {
				angles := upAndDown(sweep(-2, 0.5, 24))
				points(rng, f, "Alpha", angles, func(i int) string {
					return fmt.Sprintf("%.3f", angles[i]+[]float64{0, 0, 0.005, 0, -0.005}[i%5])
				})
			},
			wants: []string{`inputs: ["Alpha"]`, `within: {"Alpha": 0.01}`}, not: []string{"no row has a repeat"},
		},
		{
			name: "exact angles once, with a counter", make: func(rng *rand.Rand, f folder) {
				points(rng, f, "alpha", sweep(0, 2, 5), func(i int) string { return fmt.Sprint(2 * i) })
			},
			wants: []string{`inputs: ["alpha"`, "no row has a repeat"}, err: noPairs,
		},
		{
			name: "two speeds", make: func(rng *rand.Rand, f folder) {
				f.text("results.csv", "Run_nr,U,Alpha,CL,CD\n")
				for i := range 2 * len(uneven) {
					a := uneven[i%len(uneven)] + 0.01*rng.NormFloat64()
					f.text("results.csv", "%d,%.2f,%.2f,%.4f,%.4f\n", i+1, []float64{30, 54}[i/len(uneven)]+0.05*rng.NormFloat64(), a,
						0.1*a+0.01*rng.NormFloat64(), 0.02+0.001*a*a)
				}
			},
			wants: []string{`inputs: ["U", "Alpha"]`, "no row has a repeat"}, err: noPairs,
		},
		{
			name: "sideslip at two angles of attack", make: func(rng *rand.Rand, f folder) {
				values := append(append([]float64{}, uneven...), uneven...)
				points(rng, f, "alpha,beta", values, func(i int) string {
					return fmt.Sprintf("%d,%.3f", 4*(i/len(uneven)), values[i]+0.07*rng.NormFloat64())
				})
			},
			wants: []string{`inputs: ["alpha", "beta"]`, "no row has a repeat"}, err: noPairs,
		},
		{
			name: "a propeller at one speed of the shaft", make: func(rng *rand.Rand, f folder) {
				f.text("results.csv", "rpm,J,CT,CP,eta\n")
				for i := range 20 {
					j := 0.1 + 0.037*float64(i) + 0.004*rng.NormFloat64()
					f.text("results.csv", "%d,%.4f,%.4f,%.4f,%.4f\n", 4000+rng.IntN(5), j, 0.1-0.1*j, 0.05-0.02*j, 0.7*j)
				}
			},
			wants: []string{`inputs: ["J"]`, "no row has a repeat"}, err: noPairs,
		},
		{
			name: "an angle that stays, with its scatter", make: func(rng *rand.Rand, f folder) {
				f.text("results.csv", "run,rpm,yaw,thrust\n")
				for i := range 24 {
					f.text("results.csv", "%d,%d,%.3f,%.4f\n", i+1, 1000*(1+i%4), 0.01*rng.NormFloat64(),
						float64(i%4)+0.01*rng.NormFloat64())
				}
			},
			wants: []string{`inputs: ["rpm"]`}, not: []string{"no row has a repeat"},
		},
		{
			name: "an angle that the settings change", make: func(rng *rand.Rand, f folder) {
				f.text("results.csv", "run,pitch,throttle,thrust\n")
				for i := range 24 {
					f.text("results.csv", "%d,%.3f,%d,%.4f\n", i+1, 3*float64(i/6)+0.3*rng.NormFloat64(), 20*(i/6),
						float64(i/6)+0.01*rng.NormFloat64())
				}
			},
			wants: []string{`inputs: ["throttle"]`, "pitch: outcome"}, not: []string{"no row has a repeat"},
		},
		{
			name: "a speed of the shaft that was read, beside a constant speed", make: func(rng *rand.Rand, f folder) {
				f.text("results.csv", "V,rpm,thrust,torque\n")
				for i := range 24 {
					n := 1500 + 171.3*float64(i) + 20*rng.NormFloat64()
					f.text("results.csv", "%.1f,%.1f,%.4f,%.4f\n", 12+0.1*float64(rng.IntN(4)), n, n*n*1e-6, n*n*1e-8)
				}
			},
			wants: []string{"too few rows that repeat"}, not: []string{`inputs: ["V"]`}, err: toFillIn,
		},
	})
}
