package recording

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// By hand: integers of n bits reach 2^(n−1), and a sample of full scale is 1. A mix that is a little louder than full
// scale is not reported.
func TestWarnFullScale(t *testing.T) {
	info := ingest.Info{Path: "a.wav", Channels: []ingest.Channel{{Name: "mic"}}}
	for _, c := range []struct {
		name     string
		min, max float64
		want     string // "": no warning
	}{
		{"quiet", -0.1, 0.1, ""},
		{"full scale", -1, 1, ""},
		{"a mix", -2.5, 3, ""},
		{"nothing", math.NaN(), math.NaN(), ""},
		{"pascals", -20, 27, "reaches 27 times full scale, which is 1: pascals or volts?"},
		{"16 bits, quiet", -900, 1000, "integers of 16 bits? divide the samples by 32768"},
		{"16 bits", -32768, 32767, "reaches 32768 times full scale, which is 1: integers of 16 bits?"},
		{"24 bits", -4e6, 3e6, "integers of 24 bits? divide the samples by 8388608"},
		{"32 bits", -1e9, 1e9, "integers of 32 bits? divide the samples by 2147483648"},
		{"beyond integers", -1e12, 1e12, "pascals or volts?"},
		{"below zero only", -5000, 0, "reaches 5000 times full scale"},
	} {
		warnings := WarnFullScale(info, 0, stats.Summary{Min: c.min, Max: c.max})
		if c.want == "" {
			assert.Empty(t, warnings, c.name)
			continue
		}

		if assert.Len(t, warnings, 1, c.name) {
			assert.Contains(t, warnings[0].Text, c.want, c.name)
		}
	}
}
