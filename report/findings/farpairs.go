package findings

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/train/triplets"
)

// FarPairs returns a warning about repeated runs whose outcomes differ far more than the outcomes of other repeats: a
// run that was labelled wrongly, or a fault of the set-up. It returns "" if there are none, or if the pairs are not
// repeats: the two values of one run share its faults.
func (f *Findings) FarPairs(kind string, t *table.Table, set triplets.Set) string {
	recordings := t.Column("recording")
	if kind != "repeat-run" || set.Couples || recordings == nil {
		return ""
	}

	far := set.FarPairs()
	if len(far) == 0 {
		return ""
	}

	worst := far[0]
	outcome := set.Outcomes[worst.Outcome]
	place := worst.Row*set.Out + worst.Outcome

	differ := "differ"
	if len(far) == 1 {
		differ = "differs"
	}

	text := fmt.Sprintf("%d of %s %s by at least %d times the robust deviation of all pairs, the most %s: %s %s and %s, "+
		"%.1f times %s", len(far), fault.Plural(int64(set.N), "pair"), differ, triplets.FarLimit,
		recordings.Strings[worst.Row], outcome.Name, shown(set.Y1[place], ""), shown(set.Y2[place], outcome.Unit),
		worst.Times, shown(worst.Deviation, outcome.Unit))
	if often := f.oftenAmong(far, recordings.Strings); often != "" {
		text += "; " + often
	}

	return text + "; none is left out: look at these runs, and leave out what was measured wrongly"
}

// shown writes a number with four digits, or all digits of its whole part, and its unit, which may be "".
func shown(v float64, unit string) string { return strings.TrimSpace(fault.Digits(v, 4) + " " + unit) }

// oftenAmong names the recordings that occur in at least two far pairs and in at least a quarter of them, the most
// frequent first. recordings contains the recording of each row, which joins the names of two repeats.
func (f *Findings) oftenAmong(far []triplets.FarPair, recordings []string) string {
	count := map[string]int{}

	var names []string
	for _, pair := range far {
		for _, name := range f.splitName(recordings[pair.Row]) {
			count[name]++
			if count[name] == 2 {
				names = append(names, name)
			}
		}
	}

	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })

	var texts []string
	for _, name := range names {
		if 4*count[name] >= len(far) {
			texts = append(texts, fmt.Sprintf("%s is in %d of them", name, count[name]))
		}
	}

	return strings.Join(texts, ", ")
}
