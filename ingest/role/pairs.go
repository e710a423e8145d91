package role

import (
	"slices"

	"doubletake/ingest/setting"
	"doubletake/ingest/vocabulary"
)

// pairMember is one of the columns of a pair: CT_1 is number "1" of outcome "CT". The zero is not a member.
type pairMember struct{ outcome, number string }

// FindPairs finds outcomes NAME_1 and NAME_2, and gives all columns their roles. It returns nil if there are no such
// outcomes, or no inputs beside them, or the rows have a clock.
func (s *Sheet) FindPairs() *setting.Table {
	if s.Clock != "" {
		return nil
	}

	table := s.takePairs()
	if len(table.Y1) == 0 {
		return nil
	}

	s.DecideLog()
	table.Run = s.takeRunName()
	if len(s.WithRole(Input)) == 0 {
		return nil
	}

	return table
}

// takePairs gives roles to the columns of pairs and to other values of their outcomes. It returns a table with the
// pairs, which may be none.
func (s *Sheet) takePairs() *setting.Table {
	members := make([]pairMember, len(s.Columns)) // of each column
	columns := map[pairMember]*Column{}
	for i, column := range s.Columns {
		m := vocabulary.PairMember.FindStringSubmatch(column.Name)
		if m != nil && column.Values != nil && column.Role == Open {
			members[i] = pairMember{m[1], m[2]}
			columns[members[i]] = column
		}
	}

	table := &setting.Table{}
	isRepeated := s.repeatsCalledSettings()
	for i, column := range s.Columns {
		name := members[i].outcome
		first := columns[pairMember{name, "1"}]
		second := columns[pairMember{name, "2"}]
		hasPair := first != nil && second != nil
		// Four values of one outcome, in rows that have repeats already, are of microphones.
		isMicrophones := isRepeated && columns[pairMember{name, "4"}] != nil
		isMean := column.HasWord(vocabulary.Measured) && columns[pairMember{vocabulary.BareHead(column.Name), "1"}] != nil
		switch {
		case column.Role == Open && isMean: // mean CT beside CT_1
			column.SetRole(LeftOut, "a value of an outcome, by its name")
		case !hasPair || isMicrophones:
		case column == first:
			table.Y1 = append(table.Y1, first.Name)
			table.Y2 = append(table.Y2, second.Name)
			table.Outcomes = append(table.Outcomes, name)
			column.Role = Outcome
			second.Role = Outcome
		case column != second:
			column.SetRole(LeftOut, "a pair is of the first two values of "+name+": a row for each value uses all")
		}
	}

	if slices.EqualFunc(table.Y1, table.Outcomes, func(y1, name string) bool { return y1 == name+"_1" }) {
		table.Outcomes = nil // these names are the default
	}

	return table
}

// takeRunName takes the first column of texts that name runs, and returns its name, or "" if there is none.
func (s *Sheet) takeRunName() string {
	for _, column := range s.Columns {
		if column.Values == nil && (column.Role == Run || column.HasWord(vocabulary.RunNames)) {
			column.SetRole(Run, "")
			return column.Name
		}
	}

	return ""
}

// repeatsCalledSettings reports whether half of the rows have a repeat: a row of equal numbers in all columns that are
// called as settings.
func (s *Sheet) repeatsCalledSettings() bool {
	var called []*Column
	for _, column := range s.Columns {
		if column.Values != nil && column.HasWord(vocabulary.Inputs) {
			called = append(called, column)
		}
	}

	return len(called) > 0 && 2*CountRepeated(s.GroupRows(called...)) >= s.Rows
}
