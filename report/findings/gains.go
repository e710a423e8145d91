package findings

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"doubletake/ingest/campaign"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// Limits of a gain that is reported.
const (
	gainDB     = 2  // smallest gain worth a warning
	tooFarDB   = 20 // from this gain on the warning level-apart names the microphone
	constantDB = 1  // largest difference of a level's offset from the gain
	gainRuns   = 5  // smallest number of runs
	gainLevels = 3  // smallest number of microphones in a run: with two, it is not known which one is wrong
)

// addGains adds a warning for each microphone whose levels are offset by the same gain in three quarters of all runs
// and outcomes: a gain, a sensitivity or a distance that the configuration does not state. It reports the largest gain
// first, and corrects its levels before it looks for the next one, because a wrong level also offsets its neighbours.
// For the same reason it first leaves out microphones that are too far off, which other warnings name.
func (f *Findings) addGains(set triplets.Set) {
	if set.Recording == nil {
		return
	}

	rows := make([][]int, len(set.Runs))
	for i, r := range set.Run {
		rows[r] = append(rows[r], i)
	}

	channels := f.channels(set)
	gains := map[string]float64{"": math.NaN()} // NaN: the microphone, or a row of two, is left out
	for {
		microphones := levelOffsets(set, channels, rows, gains)
		if far, found := farthest(microphones); found {
			gains[far] = math.NaN()
			continue
		}

		name, gain, found := largestGain(microphones, gains)
		if !found {
			return
		}

		gains[name] = gain
		own := microphones[name]
		side := "above"
		if gain < 0 {
			side = "below"
		}

		f.add("gain-apart", "gain-apart"+name, "#"+name, fmt.Sprintf("%.1f dB %s its neighbours in %d of %d levels of %d "+
			"recordings: its gain? calibration: {gain_db: {%s: %.2f}} takes it out", math.Abs(gain), side,
			countNear(gain, own.levels), len(own.levels), own.runs, spelling.YAML(name), gain))
	}
}

// offsets contains how far the levels of a microphone are from the levels that its neighbours suggest.
type offsets struct {
	levels []float64 // dB, one for each run and outcome
	runs   int
}

// farthest returns the microphone with the largest median offset. found is false if this is less than tooFarDB.
func farthest(microphones map[string]*offsets) (name string, found bool) {
	most := 0.0
	for _, n := range slices.Sorted(maps.Keys(microphones)) {
		levels := microphones[n].levels
		if len(levels) == 0 {
			continue
		}

		offset := math.Abs(lists.Median(levels))
		if offset >= tooFarDB && offset > most {
			name = n
			most = offset
			found = true
		}
	}

	return name, found
}

// isGain reports whether three quarters of the levels are offset by the same gain, in enough runs.
func (o *offsets) isGain(gain float64) bool {
	inRange := math.Abs(gain) >= gainDB && math.Abs(gain) < tooFarDB
	return o.runs >= gainRuns && inRange && 4*countNear(gain, o.levels) >= 3*len(o.levels)
}

// largestGain returns the microphone with the largest gain that is not known yet. The gain is the median of a
// microphone's offsets. found is false if there is none.
func largestGain(microphones map[string]*offsets, known map[string]float64) (name string, gain float64, found bool) {
	for _, n := range slices.Sorted(maps.Keys(microphones)) {
		m := microphones[n]
		if len(m.levels) == 0 {
			continue
		}

		median := lists.Median(m.levels)
		if known[n] == 0 && math.Abs(median) > math.Abs(gain) && m.isGain(median) {
			name = n
			gain = median
			found = true
		}
	}

	return name, gain, found
}

// levelOffsets returns the offsets of each microphone's levels, after the known gains are subtracted from the levels. A
// microphone whose gain is NaN is left out: it has no offsets, and the microphones beside it are neighbours of each
// other. channels contains the microphone of each row, and runs the rows of each run. Rows of one run that follow each
// other belong to neighbouring microphones.
func levelOffsets(set triplets.Set, channels []string, runs [][]int, gains map[string]float64) map[string]*offsets {
	microphones := map[string]*offsets{}
	isUsed := func(row int) bool { return !math.IsNaN(gains[channels[row]]) }
	for _, all := range runs {
		rows, _ := lists.Split(all, isUsed)
		if len(rows) < gainLevels {
			continue
		}

		for _, row := range rows {
			name := channels[row]
			if microphones[name] == nil {
				microphones[name] = &offsets{}
			}

			microphones[name].runs++
		}

		for outcome, quantity := range set.Outcomes {
			if units.IsLevel(quantity.Unit) {
				addOffsets(microphones, channels, rows, levelsOf(set, channels, rows, outcome, gains))
			}
		}
	}

	return microphones
}

// levelsOf returns the levels of one run in an outcome, less the gains of their microphones.
func levelsOf(set triplets.Set, channels []string, rows []int, outcome int, gains map[string]float64) []float64 {
	levels := make([]float64, len(rows))
	for k, row := range rows {
		place := row*set.Out + outcome
		levels[k] = (set.Y1[place]+set.Y2[place])/2 - gains[channels[row]]
	}

	return levels
}

// addOffsets adds the offsets of the levels of one run. It skips levels whose offset is not known.
func addOffsets(microphones map[string]*offsets, channels []string, rows []int, levels []float64) {
	for k, row := range rows {
		if offset := offsetOf(levels, k); !math.IsNaN(offset) {
			m := microphones[channels[row]]
			m.levels = append(m.levels, offset)
		}
	}
}

// channels returns the channel of each row's recording. The recording of a pair of repeats joins two names; if their
// channels differ, the row has the channel "".
func (f *Findings) channels(set triplets.Set) []string {
	channels := make([]string, len(set.Recording))
	for row, recording := range set.Recording {
		names := f.splitName(recording)
		runs := f.splitName(set.Runs[set.Run[row]])
		channel := campaign.ChannelOf(runs[0], names[0])
		if channel == campaign.ChannelOf(runs[len(runs)-1], names[len(names)-1]) {
			channels[row] = channel
		}
	}

	return channels
}

// countNear counts the values that differ from a gain by at most constantDB.
func countNear(gain float64, values []float64) int {
	count := 0
	for _, v := range values {
		if math.Abs(v-gain) <= constantDB {
			count++
		}
	}

	return count
}

// offsetOf returns how far level k is from the levels that its neighbours suggest. It returns 0 if some suggested
// levels are above the level and others below it, so that a slope or an arch of the levels is not an offset. It returns
// NaN if a suggested level is not known.
func offsetOf(levels []float64, k int) float64 {
	distances := distancesFrom(levels, k)
	if !areOnOneSide(distances) {
		return 0
	}

	hasTwoOnEachSide := k >= 2 && k < len(levels)-2
	if hasTwoOnEachSide {
		if offset := distanceFromCubic(levels, k); !math.IsNaN(offset) {
			return offset
		}
	}

	return nearest(distances)
}

// areOnOneSide reports whether all distances are positive, or all are negative. It returns true if a distance is NaN.
func areOnOneSide(distances []float64) bool {
	low := slices.Min(distances) // NaN if a distance is NaN
	high := slices.Max(distances)
	isBetween := low <= 0 && high >= 0

	return !isBetween
}

// distanceFromCubic returns the distance of level k from the cubic through the two levels on each side of it. It
// returns NaN if one of the four levels is NaN.
func distanceFromCubic(levels []float64, k int) float64 {
	cubic := (4*levels[k-1] + 4*levels[k+1] - levels[k-2] - levels[k+2]) / 6
	return levels[k] - cubic
}

// nearest returns the distance nearest to 0 of distances on one side of it, and NaN if a distance is NaN.
func nearest(distances []float64) float64 {
	if high := slices.Max(distances); high < 0 {
		return high
	}

	return slices.Min(distances)
}

// distancesFrom returns the distances of level k from the levels that its neighbours suggest. Between other levels they
// suggest the levels on both sides. At an end they suggest more (endDistances).
func distancesFrom(levels []float64, k int) []float64 {
	if k == 0 || k == len(levels)-1 {
		return endDistances(levels, k)
	}

	return []float64{levels[k] - levels[k-1], levels[k] - levels[k+1]}
}

// endDistances returns the distances of level k, the first or the last, from the levels that its neighbours suggest.
// With a, b and c for the next levels inwards, these are a, b, 2a − b on the line through a and b, and 3a − 3b + c on
// the parabola through a, b and c. In a row of three levels, b stands for c.
func endDistances(levels []float64, k int) []float64 {
	end := len(levels) - 1
	inwards := 1
	if k == end {
		inwards = -1
	}

	clamped := func(i int) float64 { return levels[min(max(i, 0), end)] }
	a := clamped(k + inwards)
	b := clamped(k + 2*inwards)
	c := clamped(k + 3*inwards)
	fromLine := levels[k] - 2*a + b
	fromParabola := levels[k] - 3*a + 3*b - c

	return []float64{levels[k] - a, levels[k] - b, fromLine, fromParabola}
}
