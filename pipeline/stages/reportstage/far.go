package reportstage

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/internal/lists"
	"doubletake/pipeline/table"
	"doubletake/train/triplets"
)

// farPairs warns of repeated runs whose outcomes differ far more than those of
// the others: a run that was labelled wrongly, or a fault of the set-up. It is
// about repeats only: the two values of one run share its faults.
func farPairs(kind string, t *table.Table, set triplets.Set) string {
	if kind != "repeat-run" || set.Couples || t.Column("run") == nil {
		return ""
	}

	far := set.FarPairs()
	if len(far) == 0 {
		return ""
	}

	f, runs := far[0], t.Column("recording").Strings
	out, at := set.Outcomes[f.Outcome], f.Row*set.Out+f.Outcome

	pairs := "pairs differ"
	if len(far) == 1 {
		pairs = "pair differs"
	}

	text := fmt.Sprintf("%d of %d %s by at least %d times the robust deviation of all pairs, the most %s: %s %s and %s, "+
		"%.1f times %s", len(far), set.N, pairs, triplets.FarLimit, runs[f.Row], out.Name, shown(set.Y1[at], ""),
		shown(set.Y2[at], out.Unit), f.Times, shown(f.Deviation, out.Unit))
	if often := oftenAmong(far, runs); often != "" {
		text += "; " + often
	}

	return text + "; none is left out: look at these runs, and leave out what was measured wrongly"
}

func shown(v float64, unit string) string { return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, unit)) }

// oftenAmong names the runs that several of the far pairs have in common.
func oftenAmong(far []triplets.FarPair, runs []string) string {
	count := map[string]int{}

	var names []string
	for _, f := range far {
		for _, name := range strings.Split(runs[f.Row], "+") {
			name = strings.TrimSpace(name)
			if count[name]++; count[name] == 2 {
				names = append(names, name)
			}
		}
	}

	names = slices.DeleteFunc(names, func(n string) bool { return 4*count[n] < len(far) })
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })

	return strings.Join(lists.Each(names, func(n string) string {
		return fmt.Sprintf("%s is in %d of them", n, count[n])
	}), ", ")
}
