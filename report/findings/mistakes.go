package findings

import (
	"fmt"
	"math"

	"doubletake/dsp"
	"doubletake/ingest/fault"
	"doubletake/train/triplets"
)

// speed is a run whose stated shaft speed its sound contradicts.
type speed struct {
	run string
	dsp.Flag
}

// swapTolerance is the largest relative difference between the speed found in the sound of a run and the speed stated
// for the run that it was swapped with.
const swapTolerance = 0.02

// AddMistakes adds the mistakes that the triplets of an experiment show: swapped files, rows that were entered twice,
// and gains of microphones.
func (f *Findings) AddMistakes(set triplets.Set) {
	f.addSwaps()
	f.addEqualRows(set)
	f.addGains(set)
}

// addSwaps adds a warning for each run whose stated speed the sound contradicts. Two runs are swapped if each has the
// speed that is stated for the other; they share a warning.
func (f *Findings) addSwaps() {
	done := make([]bool, len(f.speeds))
	for i, a := range f.speeds {
		if done[i] {
			continue
		}

		k := i + 1
		for k < len(f.speeds) && (done[k] || !a.isSwappedWith(f.speeds[k])) {
			k++
		}

		if k == len(f.speeds) {
			f.add("speed-contradicted", a.run+a.Code, a.run, a.Text+"; it is used as stated")
			continue
		}

		b := f.speeds[k]
		done[k] = true
		f.add("files-swapped", a.run+b.run, a.run, fmt.Sprintf("swapped with %s? Stated are %s and %s rev/min, the "+
			"sound of the one has %s, of the other %s: exchange their conditions", b.run, fault.Digits(60*a.StatedHz, 6),
			fault.Digits(60*b.StatedHz, 6), fault.Digits(60*a.FoundHz, 4), fault.Digits(60*b.FoundHz, 4)))
		f.add("files-swapped", a.run+b.run, b.run, "") // the same warning is also about the second run
	}
}

// isSwappedWith reports whether each of two runs has the speed that is stated for the other.
func (s speed) isSwappedWith(other speed) bool {
	return isNear(s.FoundHz, other.StatedHz) && isNear(other.FoundHz, s.StatedHz)
}

// isNear reports whether a found speed is near a stated one.
func isNear(found, stated float64) bool { return math.Abs(found/stated-1) <= swapTolerance }

// addEqualRows adds a warning about the first row whose outcomes all equal those of an earlier row, with the number of
// such rows. It adds none if data are so coarse that rows are equal by chance: if fewer than half of the values of the
// first outcome are distinct.
func (f *Findings) addEqualRows(set triplets.Set) {
	if set.Couples || set.Out == 0 || set.N < 2 {
		return
	}

	distinct := map[float64]bool{}
	first := map[string]int{}
	doubles := 0
	var double, original int // the first of the doubles and the row that it equals
	for i := range set.N {
		distinct[set.Y1[i*set.Out]] = true
		key := fmt.Sprint(set.Y1[i*set.Out:(i+1)*set.Out], set.Y2[i*set.Out:(i+1)*set.Out])
		k, known := first[key]
		if !known {
			first[key] = i
			continue
		}

		doubles++
		if doubles == 1 {
			double = i
			original = k
		}
	}

	if doubles == 0 || 2*len(distinct) < set.N {
		return
	}

	more := ""
	switch {
	case doubles == 2:
		more = " (and 1 more row has a double)"
	case doubles > 2:
		more = fmt.Sprintf(" (and %d more rows have a double)", doubles-1)
	}

	f.add("equal-rows", "equal-rows", rowName(set, double), fmt.Sprintf("all outcomes equal those of %s%s: a row entered "+
		"twice is no measurement; leave one of the two out", rowName(set, original), more))
}

// rowName returns the recording of a row, or its number if recordings have no names.
func rowName(set triplets.Set, i int) string {
	if set.Recording == nil {
		return fmt.Sprintf("row %d", i+1)
	}

	return set.Recording[i]
}
