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
func FarPairs(kind string, t *table.Table, set triplets.Set) string {
	if kind != "repeat-run" || set.Couples || t.Column("run") == nil {
		return ""
	}

	far := set.FarPairs()
	if len(far) == 0 {
		return ""
	}

	worst := far[0]
	runs := t.Column("recording").Strings
	outcome := set.Outcomes[worst.Outcome]
	place := worst.Row*set.Out + worst.Outcome

	differ := "differ"
	if len(far) == 1 {
		differ = "differs"
	}

	text := fmt.Sprintf("%d of %s %s by at least %d times the robust deviation of all pairs, the most %s: %s %s and %s, "+
		"%.1f times %s", len(far), fault.Plural(int64(set.N), "pair"), differ, triplets.FarLimit, runs[worst.Row],
		outcome.Name, shown(set.Y1[place], ""), shown(set.Y2[place], outcome.Unit), worst.Times,
		shown(worst.Deviation, outcome.Unit))
	if often := oftenAmong(far, runs); often != "" {
		text += "; " + often
	}

	return text + "; none is left out: look at these runs, and leave out what was measured wrongly"
}

// shown writes a number with four digits and its unit, which may be "".
func shown(v float64, unit string) string { return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, unit)) }

// oftenAmong names the runs that occur in at least two and at least a quarter of the far pairs, the most frequent
// first. runs contains the names of the two runs of each row, joined by a plus.
func oftenAmong(far []triplets.FarPair, runs []string) string {
	count := map[string]int{}

	var names []string
	for _, f := range far {
		for _, name := range strings.Split(runs[f.Row], "+") {
			name = strings.TrimSpace(name)
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
