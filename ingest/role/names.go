package role

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/ingest/filename"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// ReadNames reads the conditions in the names of files and gives their columns roles. The sheet has a row for each file
// whose name states what most names do; Lacking says what the other names lack.
func ReadNames(files []string) *Sheet {
	names := filename.Read(files)
	s := &Sheet{Source: "the names", Lacking: map[string]string{}}
	s.takeComplete(files, names)
	s.addPieces()
	s.readForms()
	s.addThings()
	for _, column := range s.Columns {
		if len(column.stated()) == 0 {
			column.Values = nil
		}
	}

	s.DecideLog()
	s.renameForTables()
	s.noteReadings()

	return s
}

// takeComplete takes the files whose names state what most names do, and keeps what the names of the others lack. A
// name with another number of unnamed numbers than most is of no use, since nobody knows which number is which.
func (s *Sheet) takeComplete(files []string, names filename.Names) {
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
			s.Lacking[file] = lack
			continue
		}

		s.Files = append(s.Files, file)
		s.Pieces = append(s.Pieces, names.Pieces[i])
	}

	s.Rows = len(s.Pieces)
}

// addPieces adds a column for each key of the names.
func (s *Sheet) addPieces() {
	for row, pieces := range s.Pieces {
		for _, p := range pieces {
			if p.Key != "" {
				s.addPiece(p, row)
			}
		}
	}
}

// addPiece sets the row of a piece's column.
func (s *Sheet) addPiece(p filename.Piece, row int) {
	column := s.ByHeadOrNew(p.Key)
	column.Texts[row] = p.Text
	switch {
	case p.Key == filename.Copy:
		column.Values = nil
		column.SetRole(Run, "it tells recordings of one name apart")
	case p.Kind == filename.Number:
		column.Values[row] = p.Value()
		if _, multiplies := vocabulary.Multipliers[p.Unit]; !multiplies {
			column.Unit = cmp.Or(column.Unit, p.Unit)
		}
	}

	if p.MayBeMinus && column.Values != nil {
		sign := ""
		if column.Values[row] < 0 {
			sign = "-"
		}

		name := s.Files[row]
		inPattern := strings.TrimRight(name[p.Begin:p.TextBegin], "-") + sign + "{" + column.Name + "}"
		value := column.Values[row]
		column.noteReading(name[p.Begin:p.TextEnd], "%v; for %v write %s in the pattern", value, -value, inPattern)
	}
}

// addThings adds columns of the texts that differ between names. If all names have equally many such texts, each place
// is a column. Otherwise one column has all of them: a column of things if there are no numbers or if they are words of
// corrections, or a column variant that numbers them from 0, the most frequent.
func (s *Sheet) addThings() {
	places := s.differingTexts()
	isRegular := !slices.ContainsFunc(places, func(p []int) bool { return len(p) != len(places[0]) })
	if isRegular {
		s.addPlaces(places)
		return
	}

	joined := make([]string, s.Rows)
	for row := range places {
		var texts []string
		for _, k := range places[row] {
			texts = append(texts, s.Pieces[row][k].Text)
		}

		joined[row] = strings.Join(texts, " ")
	}

	switch {
	case nameOtherKind(joined):
		column := s.ByHeadOrNew("thing")
		column.SetRole(Thing, ofCorrections)
		copy(column.Texts, joined)
	case slices.ContainsFunc(s.Columns, isNumber):
		s.addVariants(joined)
	default:
		copy(s.ByHeadOrNew("thing").Texts, joined)
	}
}

// nameOtherKind replaces empty texts by otherKind if all others are words of corrections, as corr of u10_corr beside
// u10, and reports whether they are.
func nameOtherKind(texts []string) bool {
	isNoKind := func(text string) bool { return text != "" && !vocabulary.Corrections.MatchString(text) }
	if slices.ContainsFunc(texts, isNoKind) {
		return false
	}

	for i, text := range texts {
		texts[i] = cmp.Or(text, otherKind)
	}

	return true
}

// otherKind is the kind of names without a word of a correction.
const otherKind = "other"

// addPlaces adds a column of things for each place of texts: thing, thing_2. places are the indices of the pieces of
// each name, equally many for all names.
func (s *Sheet) addPlaces(places [][]int) {
	for row := range places {
		for n, k := range places[row] {
			p := &s.Pieces[row][k]
			p.Key = filename.Nth("thing", n+1)
			column := s.ByHeadOrNew(p.Key)
			column.Texts[row] = p.Text
			if k > 0 {
				before := s.Pieces[row][k-1]
				column.ofRuns = vocabulary.RunSeries.MatchString(cmp.Or(before.Key, before.Text))
			}
		}
	}
}

// addVariants adds the column variant, which numbers the different texts of the names from 0, the most frequent.
func (s *Sheet) addVariants(texts []string) {
	count := map[string]int{}
	for _, text := range texts {
		count[text]++
	}

	variants := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(variants, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	column := s.ByHeadOrNew("variant")
	column.SetRole(Input, fmt.Sprintf("0 is %q, and then %q: rename it, or take it out", variants[0], variants[1:]))
	for row, text := range texts {
		column.Values[row] = float64(slices.Index(variants, text))
		column.Texts[row] = text
	}
}

// differingTexts returns for each name the indices of the pieces that are texts and that not all names have.
func (s *Sheet) differingTexts() [][]int {
	names := map[string]int{} // the number of names with each text
	for _, pieces := range s.Pieces {
		seen := map[string]bool{}
		for _, p := range pieces {
			if p.Kind == filename.Word && !seen[p.Text] {
				seen[p.Text] = true
				names[p.Text]++
			}
		}
	}

	places := make([][]int, s.Rows)
	for row, pieces := range s.Pieces {
		for k, p := range pieces {
			if p.Kind == filename.Word && names[p.Text] < s.Rows {
				places[row] = append(places[row], k)
			}
		}
	}

	return places
}
