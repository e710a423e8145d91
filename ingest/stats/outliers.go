package stats

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// A code is at least as far from the other samples as they are from each other. Spikes are a hundred times as far,
// hundreds of deviations, of one sample or two, in a recording of 100 samples at least: a table is none.
const (
	spikeGap     = 100
	spikeLength  = 2
	spikeSamples = 100
)

// suspect reports whether a channel may have codes or spikes, for which its samples are read again: an
// extreme is a code, or is further from the mean than a few samples of noise are.
func suspect(s Summary) bool {
	if s.Samples < 10 || s.Min == s.Max || s.NaN > 0 {
		return false
	}

	crest := max(s.Max-s.Mean, s.Mean-s.Min) / s.Std

	return slices.Contains(ingest.Codes, s.Min) || slices.Contains(ingest.Codes, s.Max) ||
		crest > min(8, math.Sqrt(float64(s.Samples))/2)
}

// cluster are samples that lie together.
type cluster struct {
	n, first, last int64 // how many, and the indices of the first and the last
	run, longest   int64 // of neighbours
	at, sum        float64
	low, high      float64
}

func (c *cluster) add(i int64, v float64) {
	if c.n == 0 {
		*c = cluster{first: i, last: i - 2, at: v, low: v, high: v}
	}

	if c.run++; i != c.last+1 {
		c.run = 1
	}

	c.longest, c.last = max(c.longest, c.run), i
	c.n, c.sum, c.low, c.high = c.n+1, c.sum+v, min(c.low, v), max(c.high, v)
}

// outliers reports codes and spikes among the samples of channel c: those beyond the middle between the median
// of the first block and an extreme, if all others are far from them.
func (s *scan) outliers(c int, st Summary) []ingest.Warning {
	var low, rest, high cluster
	var below, above float64

	x := make([]float64, min(int64(s.per), s.row1-s.run.Row0))
	for at := s.run.Row0; at < s.row1; at += int64(len(x)) {
		x = x[:min(int64(len(x)), s.row1-at)]
		if n, err := s.r.Read([]int{c}, at, [][]float64{x}); n < len(x) || err != nil && at+int64(n) < s.row1 {
			return nil // reported by those who need the samples
		}

		if at == s.run.Row0 {
			sorted := slices.Sorted(slices.Values(x))
			median := sorted[len(x)/2]
			below, above = (median+st.Min)/2, (median+st.Max)/2
		}

		for i, v := range x {
			switch {
			case v < below:
				low.add(at+int64(i), v)
			case v > above:
				high.add(at+int64(i), v)
			default:
				rest.add(at+int64(i), v)
			}
		}
	}

	var out []ingest.Warning
	for _, pair := range [][2]cluster{{low, rest}, {high, rest}, {rest, low}, {rest, high}} { // most may be codes
		if w, ok := s.outlier(c, pair[0], pair[1], st); ok {
			out = append(out, w)
		}
	}

	return out
}

// outlier returns a warning about the samples of far, if they are codes or spikes.
func (s *scan) outlier(c int, far, rest cluster, st Summary) (ingest.Warning, bool) {
	ch := s.info.Channels[c]
	gap, spread := max(far.low-rest.high, rest.low-far.high), rest.high-rest.low

	code := far.low == far.high && slices.Contains(ingest.Codes, far.low) && gap >= spread &&
		(rest.n > far.n || spread > 0)
	spike := gap >= spikeGap*spread && spread > 0 && far.longest <= spikeLength && st.Samples >= spikeSamples &&
		rest.n > far.n
	if far.n == 0 || !code && !spike {
		return ingest.Warning{}, false
	}

	others := st.Mean + (st.Mean-far.sum/float64(far.n))*float64(far.n)/float64(st.Samples-far.n)
	value := strconv.FormatFloat(far.at, 'g', -1, 64)
	what := value
	if !code {
		what = "spikes, as " + value
	}

	text := fmt.Sprintf("channel %s: %d of %s are %s (first sample %d): without them the mean is %.6g, not %.6g: ",
		ch.Name, far.n, fault.Plural(st.Samples, "sample"), what, far.first, others, st.Mean)

	if code {
		text += "if it is a code for no value, ingest: {missing: [" + value + "]}"
		return ingest.Warning{Path: s.info.Path, Code: "missing-code", Text: text}, true
	}

	text += "correct them, or leave the interval out with row0 and row1"

	return ingest.Warning{Path: s.info.Path, Code: "spikes", Text: text}, true
}
