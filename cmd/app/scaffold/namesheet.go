package scaffold

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// nameSheet reads the conditions in the names of files and gives their columns roles. The sheet has a row for each file
// whose name states what most names do; the other files are in lacking.
func nameSheet(files []string) *sheet {
	names := readNames(files)
	s := &sheet{source: "the names", lacking: map[string]string{}}
	s.takeComplete(files, names)
	s.addPieces()
	s.readForms()
	s.addThings()
	for _, column := range s.fields {
		if len(column.stated()) == 0 {
			column.values = nil
		}
	}

	s.decideLog()
	s.renameForTables()
	s.noteReadings()

	return s
}

// namePieces are the pieces of the names of all files.
type namePieces struct {
	pieces [][]piece // of each file
	common []string  // the keys that most names have
}

// readNames reads the pieces of the names of files.
func readNames(files []string) namePieces {
	bases := make([]string, len(files))
	for i, file := range files {
		bases[i] = strings.TrimSuffix(file, path.Ext(file))
	}

	bases = restorePoints(bases)
	cuts := condition.CutNames(bases)
	dates := shortDates(bases)
	pieces := make([][]piece, len(files))
	for i := range files {
		pieces[i] = readPieces(bases[i], cuts[i], dates[i])
	}

	markCopies(bases, pieces)
	pieces, count := splitNameParts(files, pieces)

	return namePieces{pieces: pieces, common: commonKeys(count, len(files))}
}

// commonKeys returns the keys that more than half of n names have. Keys of numbers that count are common only if there
// are no others: otherwise a file 3000rpm would be left out beside 3000rpm (2).
func commonKeys(count map[string]int, n int) []string {
	var common, counting []string
	for _, key := range slices.Sorted(maps.Keys(count)) {
		isText := key == "" // texts get their columns later
		if isText || key == "time" || 2*count[key] <= n {
			continue
		}

		if vocabulary.Counters.MatchString(key) {
			counting = append(counting, key)
		} else {
			common = append(common, key)
		}
	}

	if len(common) == 0 {
		return counting
	}

	return common
}

// takeComplete takes the files whose names state what most names do, and keeps what the names of the others lack. A
// name with another number of unnamed numbers than most is of no use, since nobody knows which number is which.
func (s *sheet) takeComplete(files []string, names namePieces) {
	unnamedNumbers := make([]int, len(files))
	for i, name := range files {
		for _, p := range names.pieces[i] {
			if p.isUnnamed(name) {
				unnamedNumbers[i]++
			}
		}
	}

	groups := lists.Alike(unnamedNumbers)
	largest := slices.MaxFunc(groups, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	usual := unnamedNumbers[largest[0]]
	for i, file := range files {
		lack := ""
		if usual > 0 && unnamedNumbers[i] != usual {
			lack = fmt.Sprintf("words for its numbers: %d, where most have %d", unnamedNumbers[i], usual)
		}

		for _, key := range names.common {
			if !slices.ContainsFunc(names.pieces[i], func(p piece) bool { return p.key == key }) {
				lack = key
			}
		}

		if lack != "" {
			s.lacking[file] = lack
			continue
		}

		s.files = append(s.files, file)
		s.pieces = append(s.pieces, names.pieces[i])
	}

	s.rows = len(s.pieces)
}

// isUnnamed reports whether a number has neither a word that is known nor a unit.
func (p piece) isUnnamed(name string) bool {
	if p.kind != numberKind || p.unit != "" || p.key == copyKey {
		return false
	}

	return !vocabulary.IsKnown(strings.TrimRight(name[p.begin:p.textBegin], " _-=."))
}

// addPieces adds a column for each key of the names.
func (s *sheet) addPieces() {
	for row, pieces := range s.pieces {
		for _, p := range pieces {
			if p.key != "" {
				s.addPiece(p, row)
			}
		}
	}
}

// addPiece sets the row of a piece's column.
func (s *sheet) addPiece(p piece, row int) {
	column := s.byHeadOrNew(p.key)
	column.texts[row] = p.text
	switch {
	case p.key == copyKey:
		column.values = nil
		column.setRole(runs, "it tells recordings of one name apart")
	case p.kind == numberKind:
		column.values[row] = p.value()
		if _, multiplies := vocabulary.Multipliers[p.unit]; !multiplies {
			column.unit = cmp.Or(column.unit, p.unit)
		}
	}

	if p.mayBeMinus && column.values != nil {
		sign := ""
		if column.values[row] < 0 {
			sign = "-"
		}

		name := s.files[row]
		inPattern := strings.TrimRight(name[p.begin:p.textBegin], "-") + sign + "{" + column.name + "}"
		value := column.values[row]
		column.noteReading(name[p.begin:p.textEnd], "%v; for %v write %s in the pattern", value, -value, inPattern)
	}
}

// value returns the value of a number. Three decimals of a speed of a shaft are thousands: nobody sets 6.000 rpm.
func (p piece) value() float64 {
	value, _ := condition.ParseName(p.text)
	if factor, multiplies := vocabulary.Multipliers[p.unit]; multiplies {
		value *= factor
	}

	if (p.key == "rpm" || p.key == "n") && ambiguousMark.MatchString(p.text) {
		value *= 1000
	}

	return value
}

// addThings adds columns of the texts that differ between names. If all names have equally many such texts, each place
// is a column. Otherwise one column has all of them: a column of things if there are no numbers, or a column variant
// that numbers them from 0, the most frequent.
func (s *sheet) addThings() {
	places := s.differingTexts()
	isRegular := !slices.ContainsFunc(places, func(p []int) bool { return len(p) != len(places[0]) })
	if isRegular {
		for row := range places {
			for n, k := range places[row] {
				p := &s.pieces[row][k]
				p.key = nthName("thing", n+1)
				s.byHeadOrNew(p.key).texts[row] = p.text
			}
		}

		return
	}

	joined := make([]string, s.rows)
	count := map[string]int{}
	for row := range places {
		var texts []string
		for _, k := range places[row] {
			texts = append(texts, s.pieces[row][k].text)
		}

		joined[row] = strings.Join(texts, " ")
		count[joined[row]]++
	}

	if !slices.ContainsFunc(s.fields, isNumber) {
		copy(s.byHeadOrNew("thing").texts, joined)
		return
	}

	variants := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(variants, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	column := s.byHeadOrNew("variant")
	column.setRole(input, fmt.Sprintf("0 is %q, and then %q: rename it, or take it out", variants[0], variants[1:]))
	for row, text := range joined {
		column.values[row] = float64(slices.Index(variants, text))
		column.texts[row] = text
	}
}

// differingTexts returns for each name the places of the texts that not all names have.
func (s *sheet) differingTexts() [][]int {
	names := map[string]int{} // the number of names with each text
	for _, pieces := range s.pieces {
		seen := map[string]bool{}
		for _, p := range pieces {
			if p.kind == wordKind && !seen[p.text] {
				seen[p.text] = true
				names[p.text]++
			}
		}
	}

	places := make([][]int, s.rows)
	for row, pieces := range s.pieces {
		for k, p := range pieces {
			if p.kind == wordKind && names[p.text] < s.rows {
				places[row] = append(places[row], k)
			}
		}
	}

	return places
}

// pattern returns the pattern that reads the conditions from all names, or "" if there is none. It is the first name
// with a field in place of each piece that differs, from the last folder before the first field.
func (s *sheet) pattern() string {
	name := s.files[0]
	written := ""
	end := 0
	for _, p := range s.pieces[0] {
		column := s.byHead(p.key)
		if column == nil || column.countDistinct() < 2 {
			continue
		}

		written += name[end:p.textBegin] + "{" + column.patternField() + "}"
		end = p.textEnd
	}

	written += name[end:]
	if i := strings.IndexByte(written, '{'); i >= 0 {
		written = written[strings.LastIndexByte(written[:i], '/')+1:]
	}

	pattern, err := campaign.ParsePattern(written)
	if err != nil || !s.isReadBy(pattern) {
		return ""
	}

	return written
}

// patternField returns the field of a pattern that reads a column: "_" of a column that is not a condition, and the
// name with the type of texts.
func (f *field) patternField() string {
	isCondition := f.role == input || f.role == thing || f.role == day
	switch {
	case !isCondition:
		return "_"
	case f.values == nil || f.role != input:
		return f.name + ":text"
	}

	return f.name
}

// isReadBy reports whether a pattern reads all inputs that vary from all names, with the values of the sheet.
func (s *sheet) isReadBy(pattern *campaign.Pattern) bool {
	varying := 0
	for _, column := range s.withRole(input) {
		if column.countDistinct() > 1 {
			varying++
		}
	}

	for row, file := range s.files {
		stated, err := pattern.Match(file)
		if err != nil || len(stated) < varying {
			return false
		}

		for _, c := range stated {
			column := s.byName(c.Column)
			if !column.states(row, c) {
				return false
			}
		}
	}

	return true
}

// states reports whether a row of the column is a condition.
func (f *field) states(row int, c condition.Condition) bool {
	if c.IsName {
		return f.texts[row] == c.Name
	}

	return f.values[row] == c.Value
}

// conditionsTable returns the text of conditions.csv: a row for each file with its inputs, things and days. Things and
// days that a row does not state are left out, since every row must state them.
func (s *sheet) conditionsTable() string {
	var columns []*field
	for _, column := range s.withRole(input, thing, day) {
		if column.role == input || !slices.Contains(column.texts, "") {
			columns = append(columns, column)
		}
	}

	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(append([]string{"file"}, namesOf(columns)...)) // a strings.Builder takes every text
	for i, file := range s.files {
		row := []string{file}
		for _, column := range columns {
			if column.values != nil && column.role != day {
				row = append(row, decimal(column.values[i]))
			} else {
				row = append(row, column.texts[i])
			}
		}

		_ = w.Write(row)
	}

	w.Flush()

	return b.String()
}
