package recording

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// held returns each value n times.
func held(n int, values ...float64) []float64 {
	var list []float64
	for _, v := range values {
		list = append(list, slices.Repeat([]float64{v}, n)...)
	}

	return list
}

// series returns n values of a function of their number.
func series(n int, f func(k float64) float64) []float64 {
	list := make([]float64, n)
	for k := range list {
		list[k] = f(float64(k))
	}

	return list
}

// Forms of files in which a setting is swept, and of files that look like them and are samples at one setting.
// Expected: by what was done in the tunnel, which the name of each form says.
func TestFindSweep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	scatter := func(v, by float64) float64 { return v + by*r.NormFloat64() }
	noisy := func(by float64, values []float64) []float64 {
		for k := range values {
			values[k] = scatter(values[k], by)
		}

		return values
	}
	ramp := func(first, step float64, n int) []float64 {
		return series(n, func(k float64) float64 { return first + step*k })
	}
	upAndDown := slices.Concat(ramp(-10, 2, 16), ramp(18, -2, 15))
	quantised := func(step float64, values []float64) []float64 {
		for k, v := range values {
			values[k] = step * math.Round(v/step)
		}

		return values
	}

	const table, counted, logged, sampled = 0, 1, 0.2, 1000 // rates in Hz
	for _, c := range []struct {
		name    string
		channel string
		rateHz  float64
		values  []float64
		want    bool
	}{
		{"up", "Alpha", table, ramp(-10, 1, 31), true},
		{"down", "AoA", table, ramp(20, -2, 16), true},
		{"up and down", "alpha", table, upAndDown, true},
		{"up, down and up", "alpha", table, slices.Concat(upAndDown, ramp(-8, 2, 15)), true},
		{"from zero up and then down", "beta", table, slices.Concat(ramp(0, 2, 10), ramp(-2, -2, 9)), true},
		{"each twice in a row", "alpha", table, held(2, 0, 2, 4, 6, 8), true},
		{"the whole sweep thrice", "alpha", table, slices.Repeat(ramp(0, 4, 5), 3), true},
		{"uneven steps", "alpha", table, []float64{-5, 0, 2, 4, 6, 7, 8, 9, 10, 12, 15}, true},
		{"measured set points", "alpha", table, noisy(0.02, ramp(-10, 2, 16)), true},
		{"measured set points up and down", "alpha", table, noisy(0.02, slices.Clone(upAndDown)), true},
		{"each measured twice", "alpha", table, noisy(0.02, held(2, 0, 2, 4, 6, 8, 10, 12)), true},
		{"random order", "alpha", table, []float64{6, -2, 10, 0, 8, -4, 2, 12, 4}, true},
		{"random order, each twice", "rpm", table, []float64{3e3, 5e3, 2e3, 4e3, 2e3, 5e3, 3e3, 4e3}, true},
		{"shaft speeds, random order", "RPM", table, []float64{2000, 5500, 3000, 8000, 4000}, true},
		{"speeds of the tunnel", "U_inf", table, []float64{10, 15, 20, 25, 30}, true},
		{"advance ratio", "J", table, ramp(0.1, 0.05, 18), true},
		{"throttle", "throttle (%)", table, ramp(10, 10, 10), true},
		{"a unit with a slash", "Log/Airspeed (m/s)", table, ramp(10, 5, 5), true},
		{"a unit with a slash behind a blank", "Log/Airspeed m/s", table, ramp(10, 5, 5), true},
		{"a unit with a point", "Log.Throttle (0.1 %)", table, ramp(100, 100, 9), true},
		{"the time counts the rows", "alpha", counted, ramp(-10, 1, 31), true},
		{"the time of day of each point", "alpha", logged, ramp(-4, 2, 12), true},
		{"radians", "alpha_rad", table, ramp(-0.1, 0.02, 12), true},
		{"levels", "alpha", table, held(40, 0, 4, 8), true},
		{"levels in a recording", "rpm", sampled, held(500, 2000, 3000, 4000, 3000, 2000), true},
		{"levels of a motor", "ESC signal (us)", sampled, held(300, 1000, 1200, 1400, 1600), true},
		{"levels in a random order", "throttle", sampled, held(300, 20, 80, 40, 100, 60), true},
		{"missing values between levels", "alpha", sampled, slices.Concat(held(90, 0), held(3, math.NaN()),
			held(90, 5, 10)), true},
		{"a long recording", "rpm", sampled, held(1<<17, 2000, 3000, 4000), true},

		{"stays", "alpha", table, held(31, 4), false},
		{"two settings", "alpha", table, held(20, 0, 4), false},
		{"a switch", "throttle", sampled, held(200, 0, 1, 0, 1, 0), false},
		{"scatters about one", "alpha", table, noisy(0.02, held(60, 4)), false},
		{"scatters about zero", "alpha", table, noisy(0.2, held(60, 0)), false},
		{"a vane about zero", "beta", sampled, quantised(0.1, noisy(0.1, held(400, 0))), false},
		{"an encoder drifts", "alpha", table, quantised(0.01, ramp(0, 0.001, 100)), false},
		{"a held encoder drifts", "alpha", sampled, held(50, 0, 0.01, 0.02, 0.03), false},
		{"the tunnel warms up", "U", table, noisy(0.05, ramp(20, 0.01, 100)), false},
		{"a battery sags", "rpm", table, quantised(1, noisy(3, ramp(6000, -8, 90))), false},
		{"a battery sags without noise", "rpm", table, ramp(6000, -8.3, 90), false},
		{"turbulence", "u", table, noisy(2, held(120, 10)), false},
		{"turbulence, held by a slow logger", "speed", sampled, quantised(0.1, noisy(2, held(30, 10))), false},
		{"values held by a slow logger", "rpm", sampled, held(40, series(30, func(float64) float64 {
			return math.Round(scatter(3000, 200))
		})...), false},
		{"a ramp", "alpha", sampled, ramp(0, 0.01, 1000), false},
		{"a ramp with noise", "alpha", sampled, noisy(0.1, ramp(0, 0.01, 1000)), false},
		{"a long ramp without a time", "alpha", table, ramp(0, 0.01, 1000), false},
		{"a ramp of an encoder", "alpha", sampled, held(10, ramp(0, 0.1, 150)...), false},
		{"oscillates", "pitch", sampled, series(1000, func(k float64) float64 { return 5 * math.Sin(k/20) }), false},
		{"counts the rows", "n", table, ramp(1, 1, 60), false},
		{"a force in a group of a setting", "rpm/Fx (N)", table, ramp(0, 1, 31), false},
		{"counter of another name", "Run_nr", table, ramp(1, 1, 31), false},
		{"not a setting", "Fx", table, ramp(0, 1, 31), false},
		{"the motor's temperature", "Motor temp", table, ramp(25, 1, 31), false},
		{"the motor's current", "motor_current", table, ramp(5, 1, 31), false},
		{"a spread", "rpm std", table, ramp(5, 1, 31), false},
		{"only missing values", "alpha", table, held(9, math.NaN()), false},
		{"infinite", "alpha", table, []float64{0, 1, 2, math.Inf(1)}, false},
		{"nothing", "alpha", table, nil, false},
	} {
		reader := ingesttest.NewMemory(make([]float64, len(c.values)), c.values)
		for i, name := range []string{"lift", c.channel} {
			reader.Header.Channels[i].Name = name
			reader.Header.Channels[i].RateHz = c.rateHz
		}

		run := ingest.Run{ID: "a.csv", Path: "a.csv", Recordings: []ingest.Recording{{Channels: []int{0}}}}
		sweep, found := FindSweep(reader, run, false)
		assert.Equal(t, c.want, found, "%s: %v", c.name, sweep)
	}
}
