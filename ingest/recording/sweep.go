package recording

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/format/text"
	"doubletake/ingest/vocabulary"
)

// This file finds runs in which a setting takes several values, so that a mean over the run means nothing.

// SweepCode is the code of warnings about such runs.
const SweepCode = "sweep"

// Sweep is a setting that takes one value after the other within a run.
type Sweep struct {
	Setting string  // the name of its channel, without the group
	Values  int     // how many different values it takes
	Low     float64 // the smallest value
	High    float64 // the largest value
	InTime  bool    // the rows are samples in time; false: each row is a result
}

// Remedy returns what people can do.
func (s Sweep) Remedy() string {
	if s.InTime {
		return "state the intervals in a table of conditions, with the columns file, t0_s, t1_s and " + s.Setting
	}

	return "if each row is a result, read the file by table: instead of files:"
}

// String returns the finding and the remedy.
func (s Sweep) String() string {
	return fmt.Sprintf("%s has one value after the other (%d, from %.5g to %.5g): a mean over them means nothing; %s",
		s.Setting, s.Values, s.Low, s.High, s.Remedy())
}

// WarnSweep returns a warning if a setting takes several values in a run of an open file.
func (r *Run) WarnSweep(reader ingest.Reader, isSound bool) []ingest.Warning {
	sweep, found := FindSweep(reader, r.Run, isSound)
	if !found {
		return nil
	}

	info := reader.Info()

	return []ingest.Warning{ingest.Warn(info.Path, SweepCode, "%s%s", r.messagePrefix(info), sweep)}
}

// sweepBlocks and sweepBlock bound the samples by which FindSweep looks for settings. It reads a longer run in
// sweepBlocks blocks of sweepBlock samples, spread evenly.
const (
	sweepBlocks = 64
	sweepBlock  = 1 << 12
)

// FindSweep returns the first channel that has the name of a setting and takes several values in a run, or false if no
// channel does. It looks at all channels that are as long as the run, also at channels outside the run. isSound tells
// whether the channels of the run are microphones, whose settings may vary during a recording. FindSweep passes over
// channels that cannot be read: if they are of the run, the stage that reads their samples reports the error.
func FindSweep(reader ingest.Reader, run ingest.Run, isSound bool) (Sweep, bool) {
	info := reader.Info()
	own := info.Channels[run.Recordings[0].Channels[0]]
	begin, end := run.Interval(own.Samples)
	end = min(end, own.Samples)
	isTable := mayBeTable(own, end-begin)
	for k, channel := range info.Channels {
		name := text.LastPart(channel.Name)
		hasRunsLength := channel.Samples == own.Samples
		if !hasRunsLength || channel.IsTime() || !isSettingName(name) {
			continue
		}

		values, ok := readSpread(reader, k, begin, end)
		if !ok {
			continue
		}

		values = slices.DeleteFunc(values, math.IsNaN)
		rests := slices.Compact(slices.Clone(values))
		areLong := restSamples*len(rests) <= len(values) && len(rests) <= mostRests
		areRows := isTable && len(rests) <= mostSettings
		mayBeSet := areRows || !isSound && areLong
		if !mayBeSet || !AreSettings(name, channel.Unit, rests) {
			continue
		}

		return Sweep{
			Setting: name, Values: countDistinct(rests), Low: slices.Min(rests), High: slices.Max(rests), InTime: !isTable,
		}, true
	}

	return Sweep{}, false
}

// Limits of settings.
const (
	mostRows     = 2000 // rows of a file of results
	mostSettings = 200  // settings in a file of results
	restSamples  = 10   // least number of samples, on average, for which a setting rests at a value of a recording
	mostRests    = 60   // values in a recording: more are steps of a ramp
	slowHz       = 1    // rate in Hz up to which the time may count the rows, or be the time of day of each result
)

// mayBeTable reports whether the rows of a run may be results, one for each setting: there are few, and no time that
// goes faster than slowHz.
func mayBeTable(channel ingest.Channel, rows int64) bool {
	return rows <= mostRows && channel.RateHz <= slowHz
}

// isSettingName reports whether a channel is called as a setting, and not as something measured beside it, such as the
// temperature of the air at that speed.
func isSettingName(name string) bool {
	has := func(words vocabulary.Pattern) bool { return vocabulary.HasWord(words, name, name) }
	isOther := has(vocabulary.Outcomes) || has(vocabulary.Uncertainties) || has(vocabulary.Clocks) || has(vocabulary.Air)

	return has(vocabulary.Settings) && !isOther
}

// readSpread reads the samples of a channel from begin to end, or sweepBlocks blocks of them. It returns false if they
// cannot be read.
func readSpread(reader ingest.Reader, channel int, begin, end int64) (values []float64, ok bool) {
	if begin >= end {
		return nil, true
	}

	blocks := int64(1)
	block := end - begin
	if block > sweepBlocks*sweepBlock {
		blocks = sweepBlocks
		block = sweepBlock
	}

	values = make([]float64, blocks*block)
	for i := range blocks {
		start := begin
		if blocks > 1 {
			start += i * (end - begin - block) / (blocks - 1)
		}

		n, err := reader.Read([]int{channel}, start, [][]float64{values[i*block : (i+1)*block]})
		hasFailed := err != nil && !errors.Is(err, io.EOF)
		if hasFailed || int64(n) < block {
			return nil, false
		}
	}

	return values, true
}

// Limits of the values of a setting.
const (
	leastSteps    = 3   // different values: two may be a switch
	mostNarrow    = 0.1 // range over mean: values within it were hardly varied on purpose
	leastWide     = 0.3 // range over the largest value, from which values were varied on purpose
	leastAngleDeg = 0.3 // range of angles: less is scatter
	rowsPerTurn   = 4   // least number of values, on average, between two turns of a path
	turnShare     = 50  // a turn goes back by more than the range over turnShare
)

// angleName matches names of angles, which may scatter about 0.
var angleName = vocabulary.Whole(`.*(alpha|aoa|α|beta|β|theta|θ|phi|psi|pitch|yaw|roll|angle|winkel|incid|tilt).*`)

// AreSettings reports whether values that follow each other, none equal to the one before it, were set. They were, if
//   - they go up and down with few turns, and are far apart or round numbers; or
//   - each value occurs once, and they are far apart and round numbers; or
//   - each value occurs equally often, and they are far apart.
//
// Other values were measured: they scatter, or drift by little. Numbers of rows are not settings.
func AreSettings(name, unit string, values []float64) bool {
	distinct := slices.Compact(slices.Sorted(slices.Values(values)))
	n := len(distinct)
	if n < leastSteps || math.IsInf(distinct[0], 0) || math.IsInf(distinct[n-1], 0) {
		return false
	}

	sum := 0.0
	for _, v := range values {
		sum += v
	}

	spread := distinct[n-1] - distinct[0]
	largest := max(math.Abs(distinct[0]), math.Abs(distinct[n-1]))
	isNarrow := spread < mostNarrow*math.Abs(sum)/float64(len(values))
	isInDegrees := angleName.MatchString(name) && !strings.Contains(strings.ToLower(name+unit), "rad")
	isScatter := isInDegrees && spread < leastAngleDeg
	isCounter := len([]rune(name)) == 1 && countsUp(values) // n may be the number of the row or a shaft speed
	if isNarrow || isScatter || isCounter {
		return false
	}

	isWide := spread >= leastWide*largest
	areAllRound := areRound(distinct)
	isOnce := n == len(values)
	switch {
	case isPath(values, spread):
		return isWide || areAllRound
	case isOnce:
		return isWide && areAllRound
	}

	return isWide && areBalanced(values)
}

// countDistinct returns the number of different values.
func countDistinct(values []float64) int {
	return len(slices.Compact(slices.Sorted(slices.Values(values))))
}

// countsUp reports whether each value is the one before it plus 1.
func countsUp(values []float64) bool {
	for k := 1; k < len(values); k++ {
		if values[k] != values[k-1]+1 {
			return false
		}
	}

	return true
}

// isPath reports whether values go up and down with few turns. Smaller steps back than a part of their spread are
// scatter, not turns.
func isPath(values []float64, spread float64) bool {
	least := spread / turnShare
	turns := 0
	way := 0.0        // 1 up, −1 down, 0 not known yet
	edge := values[0] // the farthest value on the way
	for _, v := range values[1:] {
		switch back := edge - v; {
		case way == 0 && math.Abs(back) > least:
			way = math.Copysign(1, -back)
			edge = v
		case way*back > least:
			turns++
			way = -way
			edge = v
		case way*back < 0:
			edge = v
		}
	}

	return turns*rowsPerTurn < len(values)
}

// areRound reports whether all values, which are sorted, are multiples of a tenth of the power of ten below their
// range, such as 2000, 2500 and 8000 of 100.
func areRound(values []float64) bool {
	const tolerance = 1e-6 // relative to the value, and for values below a step relative to the step
	step := math.Pow(10, math.Floor(math.Log10(values[len(values)-1]-values[0]))-1)

	return !slices.ContainsFunc(values, func(v float64) bool {
		steps := v / step
		return math.Abs(steps-math.Round(steps)) > tolerance*max(1, math.Abs(steps))
	})
}

// areBalanced reports whether each value occurs as often as any other, or once more.
func areBalanced(values []float64) bool {
	count := map[float64]int{}
	for _, v := range values {
		count[v]++
	}

	least := math.MaxInt
	most := 0
	for _, n := range count {
		least = min(least, n)
		most = max(most, n)
	}

	return least > 1 && most <= least+1
}
