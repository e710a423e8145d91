package stats

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Outliers are of two kinds. A code is a number that a logger writes for a missing value (ingest.Codes). It is
// at least as far from the other samples as these are from each other. Spikes are single samples, or pairs,
// that are spikeGap times as far from the others. They are only looked for in recordings of spikeSamples or
// more: a table of measured points has no spikes.
const (
	spikeGap     = 100
	spikeLength  = 2 // samples in a row
	spikeSamples = 100

	minSuspect = 10 // fewest samples of a channel that may have outliers
	maxCrest   = 8  // extremes of noise are fewer standard deviations from the mean than this
)

// suspect reports whether a channel may have codes or spikes, so that its samples must be read again. That is
// so if an extreme is a code, or is further from the mean than noise. In short recordings √n/2 standard
// deviations are far: a single outlier among n samples is at most √n from the mean.
func suspect(s Summary) bool {
	if s.Samples < minSuspect || s.Min == s.Max || s.NaN > 0 {
		return false
	}

	if slices.Contains(ingest.Codes, s.Min) || slices.Contains(ingest.Codes, s.Max) {
		return true
	}

	crest := max(s.Max-s.Mean, s.Mean-s.Min) / s.Std

	return crest > min(maxCrest, math.Sqrt(float64(s.Samples))/2)
}

// cluster describes a group of samples of a channel.
type cluster struct {
	n           int64   // number of samples
	first, last int64   // indices of the first and the last sample in the file
	run         int64   // length of the latest sequence of neighbouring samples
	longest     int64   // length of the longest such sequence
	value       float64 // of the first sample
	sum         float64
	low, high   float64
}

// add adds sample i with the value v. Samples are added in order.
func (c *cluster) add(i int64, v float64) {
	if c.n == 0 {
		*c = cluster{first: i, last: i - 2, value: v, low: v, high: v}
	}

	c.run++
	if i != c.last+1 {
		c.run = 1
	}

	c.longest = max(c.longest, c.run)
	c.last = i
	c.n++
	c.sum += v
	c.low = min(c.low, v)
	c.high = max(c.high, v)
}

// outliers reads a channel again and returns the warnings about codes and spikes among its samples. It divides
// the samples into three clusters: those nearer to the minimum, and those nearer to the maximum, than to the
// median of the first block, and the rest. It returns nil if the samples cannot be read again.
func (s *scan) outliers(channel int, summary Summary) []ingest.Warning {
	var low, rest, high cluster
	var below, above float64 // limits of the rest, known after the first block is read

	block := make([]float64, min(int64(s.blockLen), s.row1-s.run.Row0))
	for start := s.run.Row0; start < s.row1; start += int64(len(block)) {
		block = block[:min(int64(len(block)), s.row1-start)]
		count, err := s.r.Read([]int{channel}, start, [][]float64{block})
		if count < len(block) || err != nil && start+int64(count) < s.row1 {
			return nil // whoever needs the samples reports the error
		}

		if start == s.run.Row0 {
			sorted := slices.Sorted(slices.Values(block))
			median := sorted[len(block)/2]
			below = (median + summary.Min) / 2
			above = (median + summary.Max) / 2
		}

		for i, v := range block {
			switch {
			case v < below:
				low.add(start+int64(i), v)
			case v > above:
				high.add(start+int64(i), v)
			default:
				rest.add(start+int64(i), v)
			}
		}
	}

	var warnings []ingest.Warning
	for _, parts := range []struct{ far, rest, other cluster }{
		{low, rest, high},
		{high, rest, low},
		{rest, low, high}, // if most samples are codes, the median is one
		{rest, high, low},
	} {
		meanOfOthers := (parts.rest.sum + parts.other.sum) / float64(parts.rest.n+parts.other.n)
		if warning, ok := s.outlier(channel, parts.far, parts.rest, summary, meanOfOthers); ok {
			warnings = append(warnings, warning)
		}
	}

	return warnings
}

// outlier returns a warning and true if the samples of the cluster far are codes or spikes beside the cluster rest.
// meanOfOthers is the mean of all samples but far.
func (s *scan) outlier(channel int, far, rest cluster, summary Summary, meanOfOthers float64) (ingest.Warning, bool) {
	if far.n == 0 {
		return ingest.Warning{}, false
	}

	code := isCode(far, rest)
	if !code && !isSpikes(far, rest, summary) {
		return ingest.Warning{}, false
	}

	value := strconv.FormatFloat(far.value, 'g', -1, 64)
	kind := value
	if !code {
		kind = "spikes, as " + value
	}

	text := fmt.Sprintf("channel %s: %d of %s are %s (first sample %d, counted from 0): "+
		"without them the mean is %.6g, not %.6g: ",
		s.info.Channels[channel].Name, far.n, fault.Plural(summary.Samples, "sample"), kind, far.first, meanOfOthers,
		summary.Mean)

	if code {
		text += "if it is a code for no value, ingest: {missing: [" + value + "]}"
		return ingest.Warning{Path: s.info.Path, Code: "missing-code", Text: text}, true
	}

	text += "correct them, or list the good intervals in the conditions table, in the columns row0 and row1"

	return ingest.Warning{Path: s.info.Path, Code: "spikes", Text: text}, true
}

// gap returns the distance between two clusters, negative if they overlap.
func gap(a, b cluster) float64 { return max(a.low-b.high, b.low-a.high) }

// isCode reports whether all samples of far are the same code, and at least as far from the rest as the
// rest spreads. If the rest is constant, it must have more samples than far.
func isCode(far, rest cluster) bool {
	spread := rest.high - rest.low
	oneCode := far.low == far.high && slices.Contains(ingest.Codes, far.low)
	distant := gap(far, rest) >= spread
	restIsMeasured := rest.n > far.n || spread > 0

	return oneCode && distant && restIsMeasured
}

// isSpikes reports whether the samples of far are spikes among the rest.
func isSpikes(far, rest cluster, summary Summary) bool {
	spread := rest.high - rest.low
	distant := gap(far, rest) >= spikeGap*spread && spread > 0
	rare := far.longest <= spikeLength && summary.Samples >= spikeSamples && rest.n > far.n

	return distant && rare
}
