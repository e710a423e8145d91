package scaffold

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/filename"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// nameSheet reads the conditions in the names of files and gives their columns roles. The sheet has a row for each file
// whose name states what most names do; the other files are in lacking.
func nameSheet(files []string) *sheet {
	names := filename.Read(files)
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

// takeComplete takes the files whose names state what most names do, and keeps what the names of the others lack. A
// name with another number of unnamed numbers than most is of no use, since nobody knows which number is which.
func (s *sheet) takeComplete(files []string, names filename.Names) {
	unnamedNumbers := make([]int, len(files))
	for i, name := range files {
		for _, p := range names.Pieces[i] {
			if p.IsUnnamed(name) {
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

		for _, key := range names.Common {
			if !slices.ContainsFunc(names.Pieces[i], func(p filename.Piece) bool { return p.Key == key }) {
				lack = key
			}
		}

		if lack != "" {
			s.lacking[file] = lack
			continue
		}

		s.files = append(s.files, file)
		s.pieces = append(s.pieces, names.Pieces[i])
	}

	s.rows = len(s.pieces)
}

// addPieces adds a column for each key of the names.
func (s *sheet) addPieces() {
	for row, pieces := range s.pieces {
		for _, p := range pieces {
			if p.Key != "" {
				s.addPiece(p, row)
			}
		}
	}
}

// addPiece sets the row of a piece's column.
func (s *sheet) addPiece(p filename.Piece, row int) {
	column := s.byHeadOrNew(p.Key)
	column.texts[row] = p.Text
	switch {
	case p.Key == filename.Copy:
		column.values = nil
		column.setRole(runs, "it tells recordings of one name apart")
	case p.Kind == filename.Number:
		column.values[row] = p.Value()
		if _, multiplies := vocabulary.Multipliers[p.Unit]; !multiplies {
			column.unit = cmp.Or(column.unit, p.Unit)
		}
	}

	if p.MayBeMinus && column.values != nil {
		sign := ""
		if column.values[row] < 0 {
			sign = "-"
		}

		name := s.files[row]
		inPattern := strings.TrimRight(name[p.Begin:p.TextBegin], "-") + sign + "{" + column.name + "}"
		value := column.values[row]
		column.noteReading(name[p.Begin:p.TextEnd], "%v; for %v write %s in the pattern", value, -value, inPattern)
	}
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
				p.Key = filename.Nth("thing", n+1)
				s.byHeadOrNew(p.Key).texts[row] = p.Text
			}
		}

		return
	}

	joined := make([]string, s.rows)
	count := map[string]int{}
	for row := range places {
		var texts []string
		for _, k := range places[row] {
			texts = append(texts, s.pieces[row][k].Text)
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
			if p.Kind == filename.Word && !seen[p.Text] {
				seen[p.Text] = true
				names[p.Text]++
			}
		}
	}

	places := make([][]int, s.rows)
	for row, pieces := range s.pieces {
		for k, p := range pieces {
			if p.Kind == filename.Word && names[p.Text] < s.rows {
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
		column := s.byHead(p.Key)
		if column == nil || column.countDistinct() < 2 {
			continue
		}

		written += name[end:p.TextBegin] + "{" + column.patternField() + "}"
		end = p.TextEnd
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
