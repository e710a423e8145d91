package dsp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ar1 returns n values of the autoregressive process x_i = φ·x_{i−1} + e_i, which has unit variance.
func ar1(n int, phi float64, r *rand.Rand) []float64 {
	x := make([]float64, n)
	x[0] = r.NormFloat64()
	for i := 1; i < n; i++ {
		x[i] = phi*x[i-1] + math.Sqrt(1-phi*phi)*r.NormFloat64()
	}

	return x
}

// hasFlag reports whether one of the flags has the code.
func hasFlag(flags []Flag, code string) bool {
	return slices.ContainsFunc(flags, func(f Flag) bool { return f.Code == code })
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
		require.Equal(t, 10, b.Blocks, "blocks")
		require.InDelta(t, 0.5, b.BlockS, 1e-12, "seconds of a block")

		detectable += b.Power / float64(repeats)
		if hasFlag(b.Flags, "drift") {
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

		if hasFlag(b.Flags, "drift") {
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

// A half has up to 10 blocks of at least 0.5 s, up to one sample less. If fewer than 4 fit, it has 4 shorter ones, and
// is flagged as short. The expected numbers and lengths follow by hand from this rule, which is documented at
// CheckBalance.
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

		assert.Equal(t, c.blocks, b.Blocks, "%d samples at %g Hz: blocks", c.n, c.rate)
		assert.InDelta(t, c.length, b.BlockS, 1e-9, "%d samples at %g Hz: seconds of a block", c.n, c.rate)
		assert.Equal(t, c.short, hasFlag(b.Flags, "short-blocks"), "%d samples at %g Hz: flag short-blocks", c.n, c.rate)
	}
}

// A record of fewer than 16 samples, two in each of 4 blocks of both halves, is an error.
func TestCheckBalanceOfFewSamples(t *testing.T) {
	_, err := CheckBalance([][]float64{noise(15, 1)}, 10)
	assert.EqualError(t, err, "expected at least 16 samples to compare halves, found 15 (record longer)")
}

// A sample that is not a number is an error with its place.
func TestCheckBalanceOfNaN(t *testing.T) {
	x := noise(30, 1)
	x[3] = math.NaN()
	_, err := CheckBalance([][]float64{x}, 10)
	assert.EqualError(t, err, "channel 1, sample 3: expected a finite number, found NaN (samples count from 0)")
}

// The first channel is constant, and the second is not.
func TestCheckBalanceOfConstantChannel(t *testing.T) {
	b, err := CheckBalance([][]float64{make([]float64, 100), noise(100, 2)}, 10)
	require.NoError(t, err)
	require.Equal(t, "constant", b.Flags[0].Code)
	assert.Equal(t, 0, b.Flags[0].Channel)
}

// A record whose integral time scale of 2 s is longer than its blocks has correlated blocks. By the closed form of
// TestIntegralTime, 1.995/0.005 samples at 100 Hz are 4 s, of which the scale is the half.
func TestCheckBalanceOfSlowRecord(t *testing.T) {
	b, err := CheckBalance([][]float64{ar1(1000, 0.995, rand.New(rand.NewPCG(1, 1)))}, 100)
	require.NoError(t, err)

	k := slices.IndexFunc(b.Flags, func(f Flag) bool { return f.Code == "correlated-blocks" })
	require.GreaterOrEqual(t, k, 0, "flags %v", b.Flags)
	assert.Contains(t, b.Flags[k].Text, "integral time scales")
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

			if hasFlag(b.Flags, "correlated-blocks") {
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

// Channels of unequal length, and no channels, are errors.
func TestCheckBalanceShapes(t *testing.T) {
	_, err := CheckBalance([][]float64{make([]float64, 99), make([]float64, 98)}, 1)
	assert.ErrorContains(t, err, "expected channels of equal length, found 99 and 98 samples")

	_, err = CheckBalance(nil, 1)
	assert.ErrorContains(t, err, "expected at least one channel, found none")
}
