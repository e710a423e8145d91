package scaffold

import (
	"math"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/role"
	"doubletake/ingest/vocabulary"
	"doubletake/pipeline/config"
)

// Reading a log: its rows about recordings, its columns, and what the names of the recordings state besides.

// readLog reads a log. If its cells do not fit, columns that are called as things may hold names instead of numbers.
// The error is of the first attempt.
func readLog(log string, files []string, columns map[string]string) (*campaign.Conditions, error) {
	options := campaign.LogOptions{Files: files, Columns: columns}
	c, firstErr := campaign.ReadLog(log, options)
	if firstErr == nil {
		return c, nil
	}

	options.IsName = func(column string) bool { return role.Called(column, "").IsObject() }
	c, err := campaign.ReadLog(log, options)
	if err != nil {
		return nil, firstErr
	}

	return c, nil
}

// readParts reads a log again if its rows are about parts of recordings: a recording has several rows, and two columns
// are the times of their edges. It returns c as it is otherwise.
func (p *plan) readParts(c *campaign.Conditions, files []string) *campaign.Conditions {
	columns := map[string]string{} // headers, by the program's names
	var edges []config.NamedString
	for _, edge := range vocabulary.Edges {
		if i := slices.IndexFunc(c.Names, edge.Headers.MatchString); i >= 0 {
			columns[edge.Name] = c.Names[i]
			edges = append(edges, config.NamedString{Name: edge.Name, Value: c.Names[i]})
		}
	}

	recordings := map[string]bool{}
	for _, row := range c.Rows {
		recordings[row.File] = true
	}

	hasParts := len(recordings) < len(c.Rows)
	if !hasParts || len(columns) < len(vocabulary.Edges) {
		return c
	}

	parts, err := readLog(filepath.Join(p.dir, p.Conditions), files, columns)
	if err != nil {
		return c
	}

	p.edgeColumns = edges

	return parts
}

// fromLog reads the conditions from the log. It returns the files that have a row with a value of each input; the
// others are left out. If the log cannot be read, or no row fits, fromLog notes this and returns all files.
//
// withRows finds these files, readColumns gives the columns, and the parts of the names, their roles, and stateLog
// writes down how the configuration reads the log.
func (p *plan) fromLog(files []string) (used []string) {
	c, err := readLog(filepath.Join(p.dir, p.Conditions), files, nil)
	if err != nil {
		p.note("the table of conditions does not fit yet: %v", err)
		return files
	}

	c = p.readParts(c, files)
	logged := p.withRows(c, files)
	used = logged.files
	p.noteUnlogged(files, used)
	if len(used) == 0 {
		used = files
	}

	p.readEdges(logged.rows)

	// Conditions that only some names state cannot be taken, nor conditions of files in parts. Rows that may differ in
	// them are not repeats.
	names := role.ReadNames(used)
	lost := &role.Sheet{}
	if !p.canJoin(names, logged.rows) {
		lost = names
		names = &role.Sheet{}
	}

	p.Files = globs(used)
	p.sheet, p.Log.Columns = p.readColumns(c, logged.rows, names, logged.fileOf)
	p.settleNames(p.sheet, names)
	p.stateLog()
	if len(logged.rows) == len(used) {
		p.sheet.Files = used
	}

	if stated := role.NamesOf(lost.WithRole(role.Input, role.Thing, role.Day)); len(stated) > 0 {
		p.Repeated = false
		p.note("the names are built in several ways: what they state besides %s is left out: %s", p.Conditions,
			strings.Join(stated, ", "))
	}

	if p.result.Conditions != "" {
		p.note("the names are built in several ways: conditions.csv holds what they and %s state", p.sheet.Source)
		p.Log = config.Log{}
		p.writeConditions(p.sheet)
	}

	return used
}

// noteUnlogged notes how many files are not used, because no row of the log gives all their inputs.
func (p *plan) noteUnlogged(files, used []string) {
	n := len(files) - len(used)
	switch {
	case len(used) == 0:
		p.note("the table of conditions does not fit yet: no row of %s has the name of a file and its conditions",
			p.Conditions)
	case n > 0:
		p.note("%s left out: no row of %s matches, or it has no value of an input", countAre(n, "file"), p.Conditions)
	}
}

// loggedFiles are the files that a log gives conditions, and its rows about them, in the order of the files.
type loggedFiles struct {
	files  []string
	rows   []campaign.ConditionRow
	fileOf []int // index of the file of each row
}

// withRows returns the files that have a row, and whose rows have a value of each input. All rows about files decide
// which columns are inputs.
func (p *plan) withRows(c *campaign.Conditions, files []string) (logged loggedFiles) {
	rowsOf := make([][]campaign.ConditionRow, len(files))
	for k, matches := range c.FilesOf(files) {
		for _, i := range matches {
			rowsOf[i] = append(rowsOf[i], c.Rows[k])
		}
	}

	all, _ := p.readColumns(c, slices.Concat(rowsOf...), &role.Sheet{}, nil)
	inputs := all.WithRole(role.Input)
	end := 0 // of the rows of a file, among all
	for i, file := range files {
		begin := end
		end += len(rowsOf[i])
		if begin == end || lacksValue(inputs, begin, end) {
			continue
		}

		for range rowsOf[i] {
			logged.fileOf = append(logged.fileOf, len(logged.files))
		}

		logged.files = append(logged.files, file)
		logged.rows = append(logged.rows, rowsOf[i]...)
	}

	return logged
}

// lacksValue reports whether a row from begin to end, without the end, has no value of one of some columns.
func lacksValue(columns []*role.Column, begin, end int) bool {
	for _, column := range columns {
		for row := begin; row < end; row++ {
			if column.Cell(row) == "" {
				return true
			}
		}
	}

	return false
}

// readEdges keeps whether the rows of a log cut recordings into intervals, and the length of the shortest interval.
func (p *plan) readEdges(rows []campaign.ConditionRow) {
	for _, row := range rows {
		hasEnd := !math.IsInf(row.End, 1)
		p.intervals = p.intervals || hasEnd || row.Begin > 0 || row.Timed
		switch {
		case row.Timed:
			p.seconds = min(p.seconds, row.End-row.Begin)
		case hasEnd:
			p.shortest = min(p.shortest, int64(row.End-row.Begin))
		}
	}
}

// canJoin reports whether the conditions of names can be taken beside the rows of a log. All names must state them,
// and a pattern must read them if recordings have parts.
func (p *plan) canJoin(names *role.Sheet, rows []campaign.ConditionRow) bool {
	if len(names.WithRole(role.Input, role.Thing, role.Day)) == 0 || len(names.Lacking) > 0 {
		return false
	}

	hasParts := len(rows) > len(names.Files) || p.intervals

	return !hasParts || names.Pattern() != ""
}

// readColumns gives roles to the columns of a log and to the parts of the names of its files. fileOf is the index of
// the file of each row. It returns the sheet, and how the configuration names the columns that it calls otherwise than
// the log.
func (p *plan) readColumns(
	c *campaign.Conditions, rows []campaign.ConditionRow, names *role.Sheet, fileOf []int,
) (*role.Sheet, []config.NamedString) {
	s := &role.Sheet{Source: p.Conditions, Rows: len(rows)}
	for i, name := range slices.Concat(c.Names, c.Labels) {
		column := s.ByHeadOrNew(name)
		column.Unit = c.Units[name]
		if len(rows) == 0 {
			continue
		}

		stated := make([]condition.Condition, len(rows))
		for k, row := range rows {
			stated[k] = row.States[i]
		}

		column.SetStated(stated)
	}

	s.NameTerms()
	ofLog := slices.Clone(s.Columns)
	s.AddNames(names, fileOf)
	s.DecideLog()

	renamed := slices.Clone(p.edgeColumns)
	for _, column := range ofLog {
		if slices.Contains(condition.Reserved, column.Head) { // the word has another meaning in tables
			switch {
			case column.Values != nil:
				column.Name += "_number"
			case column.Role == role.Thing || column.Role == role.Day:
				column.Name += "_name"
			}
		}

		if column.Name != column.Head {
			renamed = append(renamed, config.NamedString{Name: column.Name, Value: column.Head})
		}
	}

	return s, renamed
}

// stateLog writes down which columns of the log the configuration ignores, and whether rows of equal inputs and things
// are repeats. Columns that would tell repeats apart are ignored.
func (p *plan) stateLog() {
	p.Repeated = !p.intervals && p.sheet.RepeatsRows()
	for _, column := range p.sheet.WithRole(role.Run, role.Remark, role.LeftOut) {
		if !p.isIgnored(column) {
			continue
		}

		p.Log.Ignore = append(p.Log.Ignore, column.Head)
		p.Log.Columns = slices.DeleteFunc(p.Log.Columns, func(c config.NamedString) bool { return c.Value == column.Head })
	}
}

// isIgnored reports whether a column of a log that is not a condition would tell repeats apart.
func (p *plan) isIgnored(column *role.Column) bool {
	isConstant := column.CountDistinct() < 2
	isHarmless := column.Role == role.LeftOut && !p.Repeated && !column.MayHideDifferences()
	isVaryingRemark := column.Role == role.Remark && p.Repeated && !isConstant
	switch {
	case column.FromName || column.Values == nil || column.IsCondition && isConstant:
		return false
	case isHarmless:
		return false
	case column.Role != role.Remark || isVaryingRemark:
		return true
	}

	return column.IsNumbered() || column.HasWord(vocabulary.Clocks)
}
