package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/role"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
)

// propose takes from the sheet the inputs, and the groups and values that the splits hold out. It keeps a line of the
// role of every column.
func (p *plan) propose(files []string) {
	for _, column := range p.sheet.WithRole(role.Input) {
		if column.CountDistinct() < 2 {
			column.SetRole(role.Remark, "the same everywhere")
			column.IsCondition = true
			continue
		}

		p.Inputs = append(p.Inputs, column.Name)
		if column.Points != nil {
			p.Tolerances = append(p.Tolerances, config.NamedString{Name: column.Name, Value: column.Points.Tolerance.String()})
			p.SetPoints = append(p.SetPoints, fmt.Sprintf("%s: %s", column.Name, column.Points))
			p.note("%s: %s; within names them", column.Name, column.Points)
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

	for _, column := range p.sheet.Columns {
		p.ColumnLines = append(p.ColumnLines, column.Describe())
	}

	p.noteRoles()
}

// noteRoles notes the columns. Columns with the same role and reason share a line.
func (p *plan) noteRoles() {
	reasons := make([]string, len(p.sheet.Columns))
	for i, column := range p.sheet.Columns {
		reasons[i] = column.RoleAndReason()
	}

	for _, alike := range lists.Alike(reasons) {
		var names []string
		for _, i := range alike {
			names = append(names, p.sheet.Columns[i].Name)
		}

		p.note("%s: %s: %s", p.sheet.Source, reasons[alike[0]], strings.Join(names, ", "))
	}
}

// declareGroups declares the things and the occasions. The splits hold out each name of the first of them that has a
// few names. Repeats are rows of equal inputs, one thing and one occasion. If most rows have no repeat on their
// occasion, pairs are of two occasions.
func (p *plan) declareGroups(files []string) {
	s := p.sheet
	declared := s.WithRole(role.Input)
	for _, column := range append(s.WithRole(role.Thing), s.WithRole(role.Day)...) {
		if unfit, why := p.undeclarable(column, files); unfit != role.Open {
			column.SetRole(unfit, why)
			continue
		}

		repeatedRows := role.CountRepeated(s.GroupRows(append(declared, column)...))
		needsAcross := p.hasRepeats() && 2*repeatedRows < s.Rows
		switch {
		case column.Role == role.Thing:
			p.Things = append(p.Things, column.Name)
			declared = append(declared, column)
		case needsAcross && p.Across == "":
			p.Across = column.Name
			p.Occasions = append(p.Occasions, column.Name)
		case needsAcross:
			column.Why = "repeats are those of different ones, so that none can be held out"
			continue
		default:
			p.Occasions = append(p.Occasions, column.Name)
			declared = append(declared, column)
		}

		if p.EachName == "" && s.CanHoldOut(column) {
			p.EachName = spelling.YAML(column.Name)
		}
	}
}

// hasRepeats reports whether rows of equal settings are repeats.
func (p *plan) hasRepeats() bool { return p.Repeated || p.Table != nil && len(p.Table.Y1) == 0 }

// undeclarable returns the role of a thing or an occasion that cannot be declared, and why. It returns open if the
// column can be declared. If a column names recordings without wind, undeclarable takes its files as such.
func (p *plan) undeclarable(column *role.Column, files []string) (role.Role, string) {
	switch {
	case slices.Contains(column.Texts, ""):
		return role.Remark, "some rows state none" + role.OfMerged
	case slices.Contains(condition.Reserved, column.Name):
		return role.LeftOut, role.ReservedName
	case column.NamesFile(files) || p.takeTares(column):
		return role.Remark, "it names files"
	}

	return role.Open, ""
}

// holdOut chooses the held-out values: of the first input with at least three values, from the middle, so that without
// them every input still varies.
func (p *plan) holdOut() {
	s := p.sheet
	for _, column := range s.WithRole(role.Input) {
		for _, held := range s.HoldOutSpans(column) {
			if s.InputsVary(column.RowsOutside(held)) {
				p.HeldOut = spelling.YAML(column.Name) + ": " + held.Text
				return
			}
		}
	}
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
	isConstant := func(column *role.Column) bool { return column.IsCondition && column.Name == name }
	return slices.Contains(p.Inputs, name) || slices.ContainsFunc(p.sheet.WithRole(role.Remark), isConstant)
}
