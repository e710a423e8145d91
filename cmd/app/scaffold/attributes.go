package scaffold

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/role"
	"doubletake/ingest/vocabulary"
	"doubletake/pipeline/config"
)

// besideFiles is the reason for a column that files next to the recordings state.
const besideFiles = "of the file next to each"

// takeAttributes takes the conditions, things and occasions that all files state in attributes of their headers.
// Attributes that are the same everywhere count only if the program knows their names.
func (p *plan) takeAttributes(files []string, infos []ingest.Info) {
	var columns []*role.Column
	for _, attribute := range infos[0].Attributes {
		column := newAttributeColumn(attribute.Name)
		isOfNoUse := !column.IsCondition && isSameInAll(attribute, infos)
		if isOfNoUse || !identifier.MatchString(column.Name) {
			continue
		}

		stated := statedIn(infos, attribute.Name, column.Name)
		if stated == nil {
			continue
		}

		column.SetStated(stated)
		columns = append(columns, column)
	}

	for _, column := range p.addColumns(files, role.OfFiles, columns) {
		p.Attributes = append(p.Attributes, config.NamedString{Name: column.Name, Value: column.Head})
	}
}

// newAttributeColumn returns an empty column for an attribute, with the name that the program has for it if it knows
// one.
func newAttributeColumn(attribute string) *role.Column {
	base := attribute[strings.LastIndexAny(attribute, "/.@")+1:]
	column := &role.Column{Name: base, Head: attribute}
	standard := vocabulary.StandardNames[strings.ToLower(base)]
	if standard != "" && len(base) > 1 {
		column.Name = standard
		column.IsCondition = true
	}

	return column
}

// isSameInAll reports whether all files have an attribute with the same value.
func isSameInAll(attribute ingest.Attribute, infos []ingest.Info) bool {
	for _, info := range infos {
		if !slices.Contains(info.Attributes, attribute) {
			return false
		}
	}

	return true
}

// statedIn returns what each file states in an attribute: a number in all files, otherwise a name in all files. It
// returns nil if neither is so.
func statedIn(infos []ingest.Info, attribute, column string) []condition.Condition {
	for _, roles := range []condition.Roles{{}, {Things: []string{column}}} {
		var stated []condition.Condition
		for _, info := range infos {
			if c, err := roles.Attribute(info, attribute, column, ""); err == nil {
				stated = append(stated, c)
			}
		}

		if len(stated) == len(infos) {
			return stated
		}
	}

	return nil
}

// addColumns adds to the sheet columns of what another source states of each file, and gives them roles. It returns the
// columns that are conditions, with the source as the reason. It adds none if the rows of the sheet are not the files.
func (p *plan) addColumns(files []string, source string, columns []*role.Column) (conditions []*role.Column) {
	s := p.sheet
	if s.Rows > 0 && s.Rows != len(files) {
		return nil
	}

	added := &role.Sheet{Rows: len(files)} // the new columns alone: they decide on their roles as the columns of a log do
	for _, column := range columns {
		if s.HasCondition(column.Name) {
			if s.LeaveOutIfDifferent(column, func(row int) string { return fmt.Sprintf("%s, %s,", files[row], source) }) {
				s.Columns = append(s.Columns, column)
			}

			continue
		}

		s.Rows = len(files)
		s.Columns = append(s.Columns, column)
		added.Columns = append(added.Columns, column)
		added.ChooseInputs() // columns that have a role keep it

		isConstant := column.Values != nil && column.CountDistinct() < 2
		switch {
		case isConstant && column.IsCondition:
			column.Role = role.Input
		case column.Role == role.Thing && source == role.OfFiles && !column.IsObject():
			column.SetRole(role.Remark, "add it to attributes and things if it names what was measured")
		}

		if column.Role == role.Input || column.Role == role.Thing || column.Role == role.Day {
			conditions = append(conditions, column)
			column.Why = source
		}
	}

	if len(conditions) > 0 {
		p.dropFileList()
	}

	return conditions
}

// dropFileList takes back the table that only lists the files, to which people would add conditions, since conditions
// were found elsewhere. Other tables of conditions stay.
func (p *plan) dropFileList() {
	hasConditions := strings.Contains(p.result.Conditions, ",")
	if p.result.Conditions == "" || hasConditions {
		return
	}

	p.Conditions = ""
	p.result.Conditions = ""
	p.result.Notes = slices.DeleteFunc(p.result.Notes, func(s string) bool { return s == noConditions })
}

// takeSidecars takes the conditions that files next to all recordings state.
func (p *plan) takeSidecars(files []string) {
	for _, ending := range []string{".json", ".yaml", ".yml"} {
		for _, column := range p.addColumns(files, besideFiles, p.readSidecars(files, ending)) {
			if p.Sidecar == nil {
				p.Sidecar = &config.Sidecar{Ending: ending}
			}

			p.Sidecar.Values = append(p.Sidecar.Values, config.NamedString{Name: column.Name, Value: column.Head})
		}
	}
}

// readSidecars returns a column for each value that the files next to all recordings state.
func (p *plan) readSidecars(files []string, ending string) (columns []*role.Column) {
	stated := map[string][]condition.Condition{} // by key
	var keys []string
	for _, file := range files {
		sidecar := strings.TrimSuffix(file, path.Ext(file)) + ending
		values, err := config.ReadValues(filepath.Join(p.dir, sidecar))
		if err != nil {
			continue // check reports it
		}

		for _, v := range values {
			if stated[v.Name] == nil {
				keys = append(keys, v.Name)
			}

			stated[v.Name] = append(stated[v.Name], condition.Condition{
				Column: v.Name, Name: v.Text, Value: v.Number, IsName: math.IsNaN(v.Number),
			})
		}
	}

	for _, key := range keys {
		var alike []condition.Condition // of the kind of the first: names, or numbers
		for _, c := range stated[key] {
			if c.IsName == stated[key][0].IsName {
				alike = append(alike, c)
			}
		}

		if len(alike) != len(files) {
			continue
		}

		base := key[strings.LastIndexByte(key, '.')+1:]
		term := vocabulary.TermOf(base, "")
		column := &role.Column{Name: cmp.Or(term, base), Head: key, IsCondition: term != ""}
		column.SetStated(alike)
		columns = append(columns, column)
	}

	return columns
}
