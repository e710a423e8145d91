package scaffold

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
)

// propose takes from the sheet the inputs, and the groups and values that the splits hold out. It keeps a line of the
// role of every column.
func (p *plan) propose(files []string) {
	for _, column := range p.sheet.withRole(input) {
		if column.countDistinct() < 2 {
			column.setRole(remark, "the same everywhere")
			column.isCondition = true
			continue
		}

		p.Inputs = append(p.Inputs, column.name)
		if column.points != nil {
			p.Tolerances = append(p.Tolerances, config.NamedString{Name: column.name, Value: column.points.Tolerance.String()})
			p.SetPoints = append(p.SetPoints, fmt.Sprintf("%s: %s", column.name, column.points))
			p.note("%s: %s; within names them", column.name, column.points)
		}
	}

	p.declareGroups(files)
	p.holdOut()

	if p.Spectra {
		p.Inputs = append(p.Inputs, p.micConditions...)
	}

	for _, entry := range p.InFile {
		p.Inputs = append(p.Inputs, entry.Name)
	}

	if p.Table == nil {
		p.findMissingRotor()
	}

	for _, column := range p.sheet.fields {
		p.ColumnLines = append(p.ColumnLines, column.describe())
	}

	p.noteRoles()
}

// noteRoles notes the columns. Columns with the same role and reason share a line.
func (p *plan) noteRoles() {
	reasons := make([]string, len(p.sheet.fields))
	for i, column := range p.sheet.fields {
		reasons[i] = column.roleAndReason()
	}

	for _, alike := range lists.Alike(reasons) {
		fields := lists.Pick(p.sheet.fields, alike)
		p.note("%s: %s: %s", p.sheet.source, reasons[alike[0]], strings.Join(namesOf(fields), ", "))
	}
}

// Names of a column are held out one after the other if their number is between these two. With fewer names, too few
// are left to train on; with more, the trainings take too long.
const (
	fewNames  = 3
	manyNames = 20
)

// declareGroups declares the things and the occasions. The splits hold out each name of the first of them that has a
// few names. Repeats are rows of equal inputs, one thing and one occasion. If most rows have no repeat on their
// occasion, pairs are of two occasions.
func (p *plan) declareGroups(files []string) {
	s := p.sheet
	declared := s.withRole(input)
	for _, column := range append(s.withRole(thing), s.withRole(day)...) {
		if role, why := p.undeclarable(column, files); role != open {
			column.setRole(role, why)
			continue
		}

		repeatedRows := countRepeated(s.groupRows(append(declared, column)...))
		needsAcross := p.hasRepeats() && 2*repeatedRows < s.rows
		switch {
		case column.role == thing:
			p.Things = append(p.Things, column.name)
			declared = append(declared, column)
		case needsAcross && p.Across == "":
			p.Across = column.name
			p.Occasions = append(p.Occasions, column.name)
		case needsAcross:
			column.why = "repeats are those of different ones, so that none can be held out"
			continue
		default:
			p.Occasions = append(p.Occasions, column.name)
			declared = append(declared, column)
		}

		if p.EachName == "" && s.canHoldOut(column) {
			p.EachName = plain(column.name)
		}
	}
}

// hasRepeats reports whether rows of equal settings are repeats.
func (p *plan) hasRepeats() bool { return p.Repeated || p.Table != nil && len(p.Table.Y1) == 0 }

// undeclarable returns the role of a thing or an occasion that cannot be declared, and why. It returns open if the
// column can be declared. If a column names recordings without wind, undeclarable takes its files as such.
func (p *plan) undeclarable(column *field, files []string) (role, string) {
	switch {
	case slices.Contains(column.texts, ""):
		return remark, "some rows state none" + ofMerged
	case slices.Contains(condition.Reserved, column.name):
		return leftOut, reservedName
	case column.namesFile(files) || p.takeTares(column):
		return remark, "it names files"
	}

	return open, ""
}

// canHoldOut reports whether each name of a thing or an occasion can be held out: there are a few names, and without
// the rows of any name all inputs still vary. Names that differ only by case cannot be told apart.
func (s *sheet) canHoldOut(column *field) bool {
	names := column.distinctCells()
	n := len(names)
	if column.why == ofFiles || n < fewNames || n > manyNames || 2*n > s.rows {
		return false
	}

	lower := map[string]bool{}
	for _, name := range names {
		lower[strings.ToLower(name)] = true
		var others []int
		for row := range s.rows {
			if column.cell(row) != name {
				others = append(others, row)
			}
		}

		if !s.inputsVary(others) {
			return false
		}
	}

	return len(lower) == n
}

// holdOut chooses the held-out values: of the first input with at least three values, from the middle, so that without
// them every input still varies.
func (p *plan) holdOut() {
	s := p.sheet
	for _, column := range s.withRole(input) {
		for _, held := range s.holdOutSpans(column) {
			if s.inputsVary(column.rowsOutside(held)) {
				p.HeldOut = plain(column.name) + ": " + held.text
				return
			}
		}
	}
}

// span is a range of values that may be held out, with both ends.
type span struct {
	low, high float64
	text      string // as the configuration states it
}

// contains reports whether a value is in the span. NaN is not.
func (s span) contains(x float64) bool { return x >= s.low && x <= s.high }

// rowsOutside returns the rows whose value is not in a span.
func (f *field) rowsOutside(s span) []int {
	var rows []int
	for row := range f.values {
		if !s.contains(f.pointOrValue(row)) {
			rows = append(rows, row)
		}
	}

	return rows
}

const (
	fewLevels  = 3  // different values of an input: fewer have none in the middle
	manyLevels = 12 // more were read, not set, such as angles: a range of them is held out
	pairLevels = 5  // values from which on two neighbours are held out if each inner value has one row
)

// holdOutSpans returns the spans of an input that may be held out, the best first: a range of many values, otherwise
// single inner values. Among single values, the values with the most rows come first, then values near the middle, then
// great values. holdOutSpans returns nil if the input has fewer than fewLevels values.
func (s *sheet) holdOutSpans(column *field) []span {
	rows := map[float64]int{} // the number of rows of each value
	for row := range s.rows {
		if x := column.pointOrValue(row); !math.IsNaN(x) {
			rows[x]++
		}
	}

	values := slices.Sorted(maps.Keys(rows))
	n := len(values)
	switch {
	case n < fewLevels:
		return nil
	case n > manyLevels: // the middle fifth
		low := values[n*2/5]
		high := values[n*3/5]
		return []span{{low, high, fmt.Sprintf("{min: %s, max: %s}", decimal(low), decimal(high))}}
	}

	fromMiddle := map[float64]int{} // places between a value and the middle one
	for i, x := range values {
		fromMiddle[x] = max(i-n/2, n/2-i)
	}

	inner := slices.Clone(values[1 : n-1])
	slices.SortStableFunc(inner, func(a, b float64) int {
		return cmp.Or(cmp.Compare(rows[b], rows[a]), cmp.Compare(fromMiddle[a], fromMiddle[b]), cmp.Compare(b, a))
	})

	var spans []span
	if n >= pairLevels && rows[inner[0]] < 2 { // R² needs two conditions
		low := values[n/2-1]
		high := values[n/2]
		spans = append(spans, span{low, high, fmt.Sprintf("[%s, %s]", decimal(low), decimal(high))})
	}

	for _, x := range inner {
		spans = append(spans, span{x, x, decimal(x)})
	}

	return spans
}

// findMissingRotor finds the settings that the analysis of a rotor needs and no condition states: comments of the
// configuration ask for them.
func (p *plan) findMissingRotor() {
	if !p.Spectra {
		return
	}

	hasSpeed := p.knows("rpm") || p.knows("rps")
	hasBlades := p.knows("blades")
	p.NoRotor = !hasSpeed && !hasBlades
	p.NeedSpeed = !hasSpeed && hasBlades
	p.NeedBlades = hasSpeed && !hasBlades
}

// knows reports whether a condition is an input, or the same everywhere.
func (p *plan) knows(name string) bool {
	isConstant := func(column *field) bool { return column.isCondition && column.name == name }
	return slices.Contains(p.Inputs, name) || slices.ContainsFunc(p.sheet.withRole(remark), isConstant)
}
