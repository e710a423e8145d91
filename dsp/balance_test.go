package dsp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// For any sizes, the 2k samples are distinct numbers from 0 to n−1, the same for the same seed, and others for another
// seed. Sizes that cannot be drawn are an error.
func TestRandomSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 300).Draw(t, "k")
		n := rapid.IntRange(2*k, 2*k+5000).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		a, b, err := RandomSamples(n, k, seed)
		require.NoError(t, err)
		require.Len(t, a, k)
		require.Len(t, b, k)

		all := slices.Concat(a, b)
		slices.Sort(all)

		require.GreaterOrEqual(t, all[0], 0, "samples %v of %d", all, n)
		require.Less(t, all[2*k-1], n, "samples %v of %d", all, n)
		require.Len(t, slices.Compact(all), 2*k, "samples %v of %d", all, n)

		c, d, _ := RandomSamples(n, k, seed)
		require.Equal(t, c, a, "the same seed gives other samples")
		require.Equal(t, d, b, "the same seed gives other samples")

		if n > 100 && k > 10 {
			e, _, _ := RandomSamples(n, k, seed+1)
			require.False(t, slices.Equal(a, e), "another seed gives the same samples")
		}
	})

	for _, c := range [][2]int{{9, 5}, {10, 0}, {-1, 1}} {
		var e *fault.Error
		_, _, err := RandomSamples(c[0], c[1], 1)
		assert.ErrorAs(t, err, &e)
	}
}

// Expected: each of 10 numbers is drawn at each of the 6 places in a tenth of the draws. χ² over the 60 cells has about
// 54 degrees of freedom, because the counts of each place sum to the number of draws, and is below 99.2 with
// probability 0.9998. The draw of 5 and 5 of 1234 with seed 42 is pinned, because it must never change.
func TestRandomSamplesUniform(t *testing.T) {
	const draws = 20000

	var counts [6][10]float64
	for seed := range uint64(draws) {
		a, b, err := RandomSamples(10, 3, seed)
		require.NoError(t, err)

		for i, v := range append(a, b...) {
			counts[i][v]++
		}
	}

	chi := 0.0
	for _, row := range counts {
		for _, c := range row {
			chi += (c - draws/10) * (c - draws/10) / (draws / 10)
		}
	}

	assert.LessOrEqual(t, chi, 99.2, "χ² = %.1f", chi)

	a, b, _ := RandomSamples(1234, 5, 42)
	assert.Equal(t, pinnedSamples, fmt.Sprint(a, b), "samples")
}

const pinnedSamples = "[1009 415 467 1171 604] [847 1002 908 17 241]"

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

// The halves of five samples are the first two and the next two. The expected means were computed by hand.
func TestSplitHalves(t *testing.T) {
	a, b := SplitHalves([][]float64{{1, 2, 3, 4, 100}, {0, 0, 5, 5, 5}})
	require.Equal(t, []float64{1.5, 0}, a, "first half")
	assert.Equal(t, []float64{3.5, 5}, b, "second half")
}

// ar1 returns n values of the autoregressive process x_i = φ·x_{i−1} + e_i, which has unit variance.
func ar1(n int, phi float64, r *rand.Rand) []float64 {
	x := make([]float64, n)
	x[0] = r.NormFloat64()
	for i := 1; i < n; i++ {
		x[i] = phi*x[i-1] + math.Sqrt(1-phi*phi)*r.NormFloat64()
	}

	return x
}

// Expected: the closed form for an autoregressive process, 1 + 2Σφ^k = (1+φ)/(1−φ). The integral time is half of this
// number of samples, and the effective number of samples is n over this number.
func TestIntegralTime(t *testing.T) {
	const (
		n    = 20000
		rate = 1000.
	)
	for _, phi := range []float64{-0.5, 0, 0.5, 0.9, 0.97} {
		r := rand.New(rand.NewPCG(1, 9))
		want := (1 + phi) / (1 - phi)
		var sum float64

		const repeats = 10
		for range repeats {
			x := ar1(n, phi, r)
			b, err := CheckBalance([][]float64{x}, rate)
			require.NoError(t, err)

			sum += 2 * rate * b.IntegralTimeS[0] / repeats

			assert.InDelta(t, n, b.NEff[0]*2*rate*b.IntegralTimeS[0], 1e-6*n, "φ = %g", phi)
		}

		assert.InDelta(t, want, sum, 0.1*want+0.02, "φ = %g: 1 + 2Σρ", phi)
	}
}

// Without a drift, CheckBalance flags 5 % of records, the level of its test, although the samples are strongly
// correlated. With the drift that it calls detectable, it flags 80 %. The limits of 1 to 9 % and of 72 to 88 % allow
// four standard errors of 500 records. For comparison, Welch's t of single samples, which takes them as independent,
// rejects most records without a drift.
func TestCheckBalanceLevelAndPower(t *testing.T) {
	const (
		n    = 10000
		rate = 1000.
	)
	repeats := turns(500, 100)
	r := rand.New(rand.NewPCG(3, 9))
	var falseAlarms, found, naive int // numbers of records

	var detectable float64
	for range repeats {
		b, err := CheckBalance([][]float64{ar1(n, 0.95, r)}, rate)
		require.NoError(t, err)
		require.Equal(t, 10, b.Blocks, "%d blocks of %g s", b.Blocks, b.BlockS)
		require.InDelta(t, 0.5, b.BlockS, 1e-12, "%d blocks of %g s", b.Blocks, b.BlockS)

		detectable += b.Power / float64(repeats)

		if slices.ContainsFunc(b.Flags, func(f Flag) bool { return f.Code == "drift" }) {
			falseAlarms++
		}
	}

	for range repeats {
		x := ar1(n, 0.95, r)
		if tn, _, _, _ := WelchT(x[:n/2], x[n/2:]); math.Abs(tn) > 1.96 {
			naive++
		}

		for i := n / 2; i < n; i++ {
			x[i] += detectable
		}

		b, err := CheckBalance([][]float64{x}, rate)
		require.NoError(t, err)

		if slices.ContainsFunc(b.Flags, func(f Flag) bool { return f.Code == "drift" }) {
			found++
		}
	}

	share := func(n int) float64 { return 100 * float64(n) / float64(repeats) }
	t.Logf("false %.1f %%, detectable %.2f σ found %.1f %%, naive false %.0f %%", share(falseAlarms), detectable,
		share(found), share(naive))

	assert.GreaterOrEqual(t, falseAlarms, repeats/100, "false alarms in %d records", repeats)
	assert.LessOrEqual(t, falseAlarms, repeats*9/100, "false alarms in %d records", repeats)
	assert.GreaterOrEqual(t, found, repeats*72/100, "drifts found in %d records", repeats)
	assert.LessOrEqual(t, found, repeats*88/100, "drifts found in %d records", repeats)
	assert.GreaterOrEqual(t, naive, repeats/2, "false alarms of Welch's t of samples in %d records", repeats)
}

// The blocks of a half are at least 0.5 s long, and at most 10 and at least 4 in number. The expected numbers and
// lengths follow by hand from this rule, which is documented at CheckBalance. Records that cannot be tested are an
// error.
func TestCheckBalanceBlocks(t *testing.T) {
	for _, c := range []struct {
		n      int
		rate   float64
		blocks int
		length float64
		short  bool
	}{
		{10000, 1000, 10, 0.5, false},
		{60000, 1000, 10, 3, false},
		{714, 100, 7, 0.51, false}, // 3.57 s a half
		{300, 100, 4, 0.37, true},  // 1.5 s a half
		{76, 4, 10, 0.75, false},   // 38 samples a half at 4 Hz
		{20, 4, 5, 0.5, false},
		{16, 4, 4, 0.5, false},
		{16, 100, 4, 0.02, true},
	} {
		b, err := CheckBalance([][]float64{noise(c.n, 1)}, c.rate)
		require.NoError(t, err)

		short := slices.ContainsFunc(b.Flags, func(f Flag) bool { return f.Code == "short-blocks" })
		assert.Equal(t, c.blocks, b.Blocks, "%d samples at %g Hz: blocks", c.n, c.rate)
		assert.InDelta(t, c.length, b.BlockS, 1e-9, "%d samples at %g Hz: seconds of a block", c.n, c.rate)
		assert.Equal(t, c.short, short, "%d samples at %g Hz: flag short-blocks", c.n, c.rate)
	}

	for name, want := range map[string]string{
		"few": "expected at least 16 samples to compare halves, found 15 (record longer)",
		"NaN": "channel 1, sample 3: expected a finite number, found NaN",
	} {
		x := noise(15, 1)
		if name == "NaN" {
			x = append(x, x...)
			x[3] = math.NaN()
		}

		_, err := CheckBalance([][]float64{x}, 10)
		assert.EqualError(t, err, want, "%s", name)
	}

	b, err := CheckBalance([][]float64{make([]float64, 100), noise(100, 2)}, 10)
	require.NoError(t, err)
	require.Equal(t, "constant", b.Flags[0].Code, "a constant channel")
	assert.Equal(t, 0, b.Flags[0].Channel, "a constant channel")

	slow, err := CheckBalance([][]float64{ar1(1000, 0.995, rand.New(rand.NewPCG(1, 1)))}, 100)
	require.NoError(t, err, "slow record")
	assert.True(t, slices.ContainsFunc(slow.Flags, func(f Flag) bool {
		return f.Code == "correlated-blocks" && strings.Contains(f.Text, "integral time scales")
	}), "slow record")
}

// White noise has independent block means, however slowly it is sampled: at most 15 % of records of 20 s at 4 Hz may
// look correlated by chance. Of records with an integral time scale of one second, whose neighbouring samples have the
// correlation e^(−1/4), at least 85 % must be flagged.
func TestCorrelatedBlocksAtLowRate(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const records = 400
	flagged := func(phi float64) (n int) {
		for range records {
			b, err := CheckBalance([][]float64{ar1(80, phi, r)}, 4)
			require.NoError(t, err)

			if slices.ContainsFunc(b.Flags, func(f Flag) bool { return f.Code == "correlated-blocks" }) {
				n++
			}
		}

		return n
	}

	white := flagged(0)
	slow := flagged(math.Exp(-0.25))
	t.Logf("of %d records flagged: white %d, correlated over 1 s %d", records, white, slow)

	assert.LessOrEqual(t, white, records*15/100, "flagged records of white noise, of %d", records)
	assert.GreaterOrEqual(t, slow, records*85/100, "flagged records with correlation over 1 s, of %d", records)
}

// A recording has two channels. The second one, channel 1, drifts.
func ExampleCheckBalance() {
	r := rand.New(rand.NewPCG(1, 2))
	lift := ar1(10000, 0.9, r) // 10 s at 1 kHz, no drift

	drag := ar1(10000, 0.9, r)
	for i := range drag { // half a standard deviation between the halves
		drag[i] += float64(i) / 10000
	}

	b, err := CheckBalance([][]float64{lift, drag}, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Printf("%d blocks of %g s per half\n", b.Blocks, b.BlockS)

	for _, f := range b.Flags {
		fmt.Println(f.Code, "in channel", f.Channel)
	}
	// Output:
	// 10 blocks of 0.5 s per half
	// drift in channel 1
}

// From 10 000 samples, two draws of 250 samples are taken, which have no sample in common.
func ExampleRandomSamples() {
	first, second, err := RandomSamples(10000, 250, 7)
	fmt.Println(len(first), len(second), err)
	// Output: 250 250 <nil>
}
