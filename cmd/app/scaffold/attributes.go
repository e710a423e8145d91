package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/role"
	"doubletake/pipeline/config"
)

// besideFiles is the reason for a column that files next to the recordings state.
const besideFiles = "of the file next to each"

// takeAttributes takes the conditions, things and occasions that all files state in attributes of their headers.
func (p *plan) takeAttributes(files []string, infos []ingest.Info) {
	for _, column := range p.addColumns(files, role.OfFiles, role.ReadAttributes(infos)) {
		p.Attributes = append(p.Attributes, config.NamedString{Name: column.Name, Value: column.Head})
	}
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
		for _, column := range p.addColumns(files, besideFiles, role.ReadSidecars(p.dir, files, ending)) {
			if p.Sidecar == nil {
				p.Sidecar = &config.Sidecar{Ending: ending}
			}

			p.Sidecar.Values = append(p.Sidecar.Values, config.NamedString{Name: column.Name, Value: column.Head})
		}
	}
}
