package campaign

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// Law is how an outcome depends on a condition: it is proportional to a power of the condition.
type Law struct {
	Condition string
	Power     float64
}

// ParseLaw reads "rpm^2", or "rpm" for the first power.
func ParseLaw(s string) (Law, error) {
	name, power, hasPower := strings.Cut(strings.TrimSpace(s), "^")
	if !hasPower {
		power = "1"
	}

	v, err := strconv.ParseFloat(strings.TrimSpace(power), 64)
	l := Law{Condition: strings.TrimSpace(name), Power: v}
	if err != nil || !ingest.Finite(v) || l.Condition == "" {
		return l, fmt.Errorf("expected a condition with its power, like rpm^2, found %q", s)
	}

	return l, nil
}

// pairRepeats moves the rows to measured, and makes pairs of rows of equal condition.
func (r *tableReader) pairRepeats() error {
	measured := *r.PairTable
	r.measured = &measured
	r.setPoints = r.atSetPoints(measured.X)
	r.findAlongside()
	if r.options.Across != "" {
		return r.pairAcross()
	}

	r.Run = nil
	var pairs [][2]int
	for group := range r.groupsOfEqual(measured.Texts) {
		if r.options.AllPairs && len(group) > mostRepeats {
			return r.fail(fmt.Sprintf("condition %v", rowOf(measured.X, group[0])),
				fmt.Sprintf("at most %d repeats, all pairs of which are used", mostRepeats), strconv.Itoa(len(group)),
				"leave out use: all")
		}

		before := len(pairs)
		pairs = r.appendPairs(pairs, group)
		if added := len(pairs) - before; r.options.AllPairs && added > 0 {
			r.addWeights(group, added)
		}
	}

	if r.isExact() { // a pair comes where its second row is
		slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Compare(a[1], b[1]) })
	}

	r.Recording = make([]string, len(pairs))
	first := make([]int, len(pairs))
	second := make([]int, len(pairs))
	for k, p := range pairs {
		r.Recording[k] = r.nameOf(p[:]...)
		first[k] = p[0]
		second[k] = p[1]
	}

	if !r.options.AllPairs {
		r.Run = r.runsOfPairs(pairs)
	}

	if err := r.takePairsOf(first, second); err != nil {
		return err
	}

	r.warnUnpaired(first, second)

	return nil
}

// runsOfPairs returns the names of the runs of pairs. Pairs of the same two runs have the same name, whichever row
// comes first in the table: they are not independent.
func (r *tableReader) runsOfPairs(pairs [][2]int) []string {
	names := slices.Clone(r.Recording)
	if !r.hasRuns() {
		return names
	}

	for k, pair := range pairs {
		if r.measured.Run[pair[0]] > r.measured.Run[pair[1]] {
			names[k] = r.nameOf(pair[1], pair[0])
		}
	}

	return names
}

// addWeights adds the weights and the name of the run of the n pairs of a group. The weights of all pairs of r rows
// sum to r/2, the number of independent pairs.
func (r *tableReader) addWeights(group []int, n int) {
	weight := float64(len(group)) / 2 / float64(n)
	rows := group
	if !r.hasRuns() {
		rows = group[:1]
	}

	name := r.nameOf(rows...)
	for range n {
		r.Weight = append(r.Weight, weight)
		r.Run = append(r.Run, name)
	}
}

// warnUnpaired warns of rows that are in no pair.
func (r *tableReader) warnUnpaired(first, second []int) {
	isPaired := make([]bool, r.measured.N)
	for _, i := range slices.Concat(first, second) {
		isPaired[i] = true
	}

	var alone []int
	for i := range isPaired {
		if !isPaired[i] {
			alone = append(alone, i)
		}
	}

	r.Warnings = append(r.Warnings, WarnUnpaired(r.path, "row", len(alone), func(k int) string {
		run := r.nameOf(alone[k])
		place := r.describePlace(r.places[alone[k]])
		return fmt.Sprintf("%s (%s)", run, strings.TrimPrefix(place, run+", ")) // the run may be the file
	})...)
}

// takePairsOf fills the table with pairs of a first and a second row each. The conditions of a pair are the means of
// its rows, to which the outcomes are corrected by their laws.
func (r *tableReader) takePairsOf(first, second []int) error {
	pairs := r.PairTable
	measured := r.measured
	pairs.N = len(first)
	pairs.Texts = rowsOf(measured.Texts, first)
	pairs.X = make([][]float64, len(measured.X))
	for i, x := range measured.X {
		pairs.X[i] = make([]float64, pairs.N)
		for k := range pairs.N {
			pairs.X[i][k] = middle(x[first[k]], x[second[k]])
		}
	}

	pairs.Y1 = rowsOf(measured.Y1, first)
	pairs.Y2 = rowsOf(measured.Y1, second)
	pairs.Files = r.filesOf(first, second)
	if err := r.correctOutcomes(pairs.Y1, first); err != nil {
		return err
	}

	return r.correctOutcomes(pairs.Y2, second)
}

// rowsOf returns some rows of columns.
func rowsOf[T any](columns [][]T, rows []int) [][]T {
	var selected [][]T
	for _, c := range columns {
		selected = append(selected, lists.Pick(c, rows))
	}

	return selected
}

// reorder replaces each column by the column with its rows in another order.
func reorder[T any](columns [][]T, rows []int) {
	for k, c := range columns {
		columns[k] = lists.Pick(c, rows)
	}
}

// correctOutcomes corrects the outcomes y, Y1 or Y2, to the conditions of their pairs. rows are the rows of the
// outcomes. An outcome that is proportional to cᵖ of a condition c is multiplied by (wanted/measured)ᵖ.
func (r *tableReader) correctOutcomes(y [][]float64, rows []int) error {
	for j, name := range r.Outcomes {
		law, hasLaw := r.options.Correct[name]
		if !hasLaw {
			continue
		}

		i := slices.Index(r.Inputs, law.Condition)
		for k, row := range rows {
			measured := r.measured.X[i][row]
			wanted := r.X[i][k]
			if measured == wanted {
				continue
			}

			y[j][k] *= math.Pow(wanted/measured, law.Power)
			if measured == 0 || !ingest.Finite(y[j][k]) {
				place := r.places[row]
				return fault.At(r.files[place.file].Name, fmt.Sprintf("line %d", place.line),
					"a condition other than 0 to correct "+name, fmt.Sprintf("%s = %g", r.Inputs[i], measured), "")
			}
		}
	}

	return nil
}

// middle returns the mean of two numbers, which is exact if they are equal.
func middle(a, b float64) float64 {
	if a == b {
		return a
	}

	return a + (b-a)/2
}

// nameOf returns the name of rows of equal condition: the names of their runs. If rows have no runs, it is the
// conditions halfway between the first row and the last.
func (r *tableReader) nameOf(rows ...int) string {
	if r.hasRuns() {
		separator := " + "
		if r.isExact() {
			separator = "+"
		}

		return strings.Join(lists.Pick(r.measured.Run, rows), separator)
	}

	first := rows[0]
	last := rows[len(rows)-1]
	x := make([]float64, len(r.setPoints))
	for k, values := range r.setPoints {
		x[k] = middle(values[first], values[last])
	}

	return r.conditionsID(r.onlySet(x), rowOf(r.measured.Texts, first))
}

// findAlongside finds the inputs that were measured alongside: rows that differ in them alone repeat each other.
func (r *tableReader) findAlongside() {
	hasTolerance := func(name string) bool {
		_, isSetPoint := r.options.SetPoints[name]
		_, isWithin := r.options.Within[name]

		return isSetPoint || isWithin
	}
	names := condition.Alongside(r.Inputs, r.measured.X, r.options.Stated, hasTolerance)
	r.alongside = make([]bool, len(r.Inputs))
	for k, name := range r.Inputs {
		r.alongside[k] = slices.Contains(names, name)
	}

	if len(names) > 0 {
		r.Warnings = append(r.Warnings, ingest.Warn(r.path, "measured-alongside", "%s: measured alongside, not set, so that "+
			"rows that differ in nothing else are repeats; train: {inputs: …} names conditions that were set",
			strings.Join(names, ", ")))
	}
}

// isAlongside reports whether input k was measured alongside.
func (r *tableReader) isAlongside(k int) bool { return r.alongside != nil && r.alongside[k] }

// onlySet returns the conditions x of a row with NaN for each condition that was measured alongside, because the names
// of rows leave them out. It returns x itself if there are none.
func (r *tableReader) onlySet(x []float64) []float64 {
	if !slices.Contains(r.alongside, true) {
		return x
	}

	set := slices.Clone(x)
	for k := range set {
		if r.isAlongside(k) {
			set[k] = math.NaN()
		}
	}

	return set
}

// isExact reports whether only rows whose conditions are exactly equal are paired, and each row once.
func (r *tableReader) isExact() bool {
	return !r.options.AllPairs && len(r.options.SetPoints)+len(r.options.Within)+len(r.options.Correct) == 0
}

// atSetPoints returns the columns of conditions, with the set points in place of the values of conditions that scatter.
func (r *tableReader) atSetPoints(x [][]float64) [][]float64 {
	var columns [][]float64
	for k, values := range x {
		if tolerance, scatters := r.options.SetPoints[r.Inputs[k]]; scatters {
			points := condition.SetPointsOf(values, tolerance)
			values = slices.Clone(values)
			for i, v := range values {
				values[i] = points.At(v)
			}
		}

		columns = append(columns, values)
	}

	return columns
}

// groupsOfEqual returns the groups of rows of equal conditions and labels.
func (r *tableReader) groupsOfEqual(labels [][]string) iter.Seq[[]int] {
	var tolerances []condition.Tolerance
	var conditions [][]float64
	for k, name := range r.Inputs {
		if !r.isAlongside(k) {
			tolerances = append(tolerances, r.options.Within[name])
			conditions = append(conditions, r.setPoints[k])
		}
	}

	return condition.Groups(r.measured.N, tolerances, conditions, labels)
}

// mostRepeats bounds a group whose pairs all count: their number grows as its square.
const mostRepeats = 4096

// appendPairs appends pairs of rows of a group: all pairs, or pairs that use every row once. Two rows of one run are
// never a pair.
func (r *tableReader) appendPairs(pairs [][2]int, group []int) [][2]int {
	sameRun := func(i, j int) bool { return r.hasRuns() && r.measured.Run[i] == r.measured.Run[j] }
	var waiting []int // rows without a partner yet, all of one run
	for k, i := range group {
		switch {
		case r.options.AllPairs:
			for _, j := range group[k+1:] {
				if !sameRun(i, j) {
					pairs = append(pairs, [2]int{i, j})
				}
			}

		case len(waiting) > 0 && !sameRun(waiting[0], i):
			pairs = append(pairs, [2]int{waiting[0], i})
			waiting = waiting[1:]
		default:
			waiting = append(waiting, i)
		}
	}

	return pairs
}

// pairAcross makes each row the first of a pair across occasions. Until the caller chooses the partners, a row is its
// own second. All rows of a condition get the same name in Recording, by which the caller finds their partners.
func (r *tableReader) pairAcross() error {
	across := slices.Index(r.Labels, r.options.Across)
	days := r.measured.Texts[across]
	compared := r.comparedAcross(across, days)
	var lone []int // places in order of rows whose condition was measured on one occasion only
	order := make([]int, 0, r.N)
	r.Recording = make([]string, 0, r.N)
	for group := range r.groupsOfEqual(lists.Pick(r.measured.Texts, compared)) {
		labels := make([]string, len(r.Labels))
		for _, k := range compared {
			labels[k] = r.measured.Texts[k][group[0]]
		}

		name := r.conditionsID(r.onlySet(rowOf(r.setPoints, group[0])), labels)
		hasOtherDay := slices.ContainsFunc(group, func(i int) bool { return days[i] != days[group[0]] })
		for _, i := range group {
			if !hasOtherDay {
				lone = append(lone, len(order))
			}

			order = append(order, i)
			r.Recording = append(r.Recording, name)
		}
	}

	// The columns may be large. The table and measured share their lists of columns: reorder replaces the columns of
	// both, so that only one column at a time is there twice. The set points and the runs of measured are not needed any
	// more.
	r.setPoints = nil
	r.measured.Run = nil
	reorder(r.X, order)
	reorder(r.Y1, order)
	reorder(r.Texts, order)
	r.Files = r.filesOf(order, order)
	r.Y2 = r.Y1
	r.Weight = slices.Repeat([]float64{0.5}, r.N)
	r.Run = lists.Pick(r.Run, order)
	if !r.hasRuns() {
		r.Run = nil
		for _, day := range r.Texts[across] {
			r.Run = append(r.Run, r.keptIDs.keep([]byte(r.options.Across+"="+day)))
		}
	}

	warnings, err := WarnLone(r.path, "row", r.options.Across, len(lone), r.N, func(i int) string {
		return fmt.Sprintf("%s (%s)", r.Recording[lone[i]], r.describePlace(r.places[order[lone[i]]]))
	})
	r.Warnings = append(r.Warnings, warnings...)

	return err
}

// comparedAcross returns the indices of the labels that must be equal in a pair: all but the label that pairs go
// across, and occasions within one of its names, such as the days of a session.
func (r *tableReader) comparedAcross(across int, days []string) []int {
	var compared []int
	for k, label := range r.Labels {
		isNested := slices.Contains(r.options.Occasions, label) && condition.Nested(r.measured.Texts[k], days)
		if k != across && !isNested {
			compared = append(compared, k)
		}
	}

	return compared
}

// WarnLone warns of n rows or recordings (what) whose conditions were measured on one occasion only, with the names of
// the first few. all is the number of all rows or recordings. WarnLone returns no warning if n is 0, and an error if n
// is all.
func WarnLone(path, what, across string, n, all int, name func(i int) string) ([]ingest.Warning, error) {
	if n >= all {
		return nil, fault.At(path, "", "two "+what+"s of equal condition on different "+across,
			"none among "+fault.Plural(int64(all), what), "name inputs that repeat, or leave out across")
	}

	if n == 0 {
		return nil, nil
	}

	return []ingest.Warning{ingest.Warn(path, "one-occasion",
		"%s measured on one %s only: their second values are from the same %[2]s, and a single %s is its own second "+
			"value: %s", fault.Plural(int64(n), what), across, what, fault.SomeOf(n, name))}, nil
}

// WarnUnpaired warns of n rows or recordings (what) without a partner, with the names of the first few. It returns no
// warning if n is 0.
func WarnUnpaired(path, what string, n int, name func(i int) string) []ingest.Warning {
	if n == 0 {
		return nil
	}

	return []ingest.Warning{ingest.Warn(path, "unpaired-"+what+"s", "%s without a partner of another run left out: %s",
		fault.Plural(int64(n), what), fault.SomeOf(n, name))}
}
