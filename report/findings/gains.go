package findings

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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
func (f *Findings) addGains(set triplets.Set) {
	if set.Recording == nil {
		return
	}

	rows := make([][]int, len(set.Runs))
	for i, r := range set.Run {
		rows[r] = append(rows[r], i)
	}

	gains := map[string]float64{}
	for {
		microphones := levelOffsets(set, rows, gains)
		name, gain := largestGain(microphones, gains)
		if name == "" {
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
			countNear(gain, own.levels), len(own.levels), own.runs, name, gain))
	}
}

// offsets contains how far the levels of a microphone are from the levels that its neighbours suggest.
type offsets struct {
	levels []float64 // dB, one for each run and outcome
	runs   int
}

// isGain reports whether three quarters of the levels are offset by the same gain, in enough runs.
func (o *offsets) isGain(gain float64) bool {
	inRange := math.Abs(gain) >= gainDB && math.Abs(gain) < tooFarDB
	return o.runs >= gainRuns && inRange && 4*countNear(gain, o.levels) >= 3*len(o.levels)
}

// largestGain returns the microphone with the largest gain that is not known yet, or "" if there is none. The gain is
// the median of a microphone's offsets.
func largestGain(microphones map[string]*offsets, known map[string]float64) (name string, gain float64) {
	for _, n := range slices.Sorted(maps.Keys(microphones)) {
		m := microphones[n]
		if len(m.levels) == 0 {
			continue
		}

		median := lists.Median(m.levels)
		if known[n] == 0 && math.Abs(median) > math.Abs(gain) && m.isGain(median) {
			name = n
			gain = median
		}
	}

	return name, gain
}

// levelOffsets returns the offsets of each microphone's levels, after the known gains are subtracted from the levels.
// runs contains the rows of each run. Rows of one run that follow each other belong to neighbouring microphones.
func levelOffsets(set triplets.Set, runs [][]int, gains map[string]float64) map[string]*offsets {
	microphones := map[string]*offsets{}
	for _, rows := range runs {
		if len(rows) < gainLevels {
			continue
		}

		for _, row := range rows {
			name := microphone(set, row)
			if microphones[name] == nil {
				microphones[name] = &offsets{}
			}

			microphones[name].runs++
		}

		for outcome, quantity := range set.Outcomes {
			if units.IsLevel(quantity.Unit) {
				addOffsets(microphones, set, rows, outcome, gains)
			}
		}
	}

	return microphones
}

// addOffsets adds the offsets of an outcome's levels in one run. Levels whose offset is not known are left out.
func addOffsets(microphones map[string]*offsets, set triplets.Set, rows []int, outcome int, gains map[string]float64) {
	levels := make([]float64, len(rows))
	for k, row := range rows {
		place := row*set.Out + outcome
		levels[k] = (set.Y1[place]+set.Y2[place])/2 - gains[microphone(set, row)]
	}

	for k, row := range rows {
		if offset := offsetOf(levels, k); !math.IsNaN(offset) {
			m := microphones[microphone(set, row)]
			m.levels = append(m.levels, offset)
		}
	}
}

// microphone returns the channel of a row's recording.
func microphone(set triplets.Set, row int) string {
	_, name, _ := strings.Cut(set.Recording[row], "#")
	return name
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

// offsetOf returns how far level k is from the values that its neighbours suggest. It returns 0 if some suggested
// values are above the level and others below it, so that a slope or an arch of the levels is not an offset, and NaN if
// a suggested value is not known.
//
// If all are on one side, the offset of a level with two neighbours on each side is its distance from the cubic through
// these four levels. Otherwise it is the distance from the nearest suggested value.
func offsetOf(levels []float64, k int) float64 {
	distances := distancesFrom(levels, k)
	low := slices.Min(distances) // NaN if a distance is NaN
	high := slices.Max(distances)
	if low <= 0 && high >= 0 {
		return 0
	}

	if k >= 2 && k < len(levels)-2 {
		cubic := (4*levels[k-1] + 4*levels[k+1] - levels[k-2] - levels[k+2]) / 6
		if !math.IsNaN(cubic) {
			return levels[k] - cubic
		}
	}

	if high < 0 {
		return high
	}

	return low
}

// distancesFrom returns the distances of level k from the values that its neighbours suggest. Between other levels they
// suggest the levels on both sides. At an end they suggest the two nearest levels, the line through them, and the
// parabola through the three nearest, where the last level stands for a level beyond the other end.
func distancesFrom(levels []float64, k int) []float64 {
	end := len(levels) - 1
	if k > 0 && k < end {
		return []float64{levels[k] - levels[k-1], levels[k] - levels[k+1]}
	}

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
