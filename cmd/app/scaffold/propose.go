package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/role"
	"doubletake/ingest/spelling"
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
	for _, alike := range grouped(p.sheet.Columns, (*role.Column).RoleAndReason) {
		p.note("%s: %s: %s", p.sheet.Source, alike[0].RoleAndReason(), listed(role.NamesOf(alike)))
	}
}

// declareGroups declares the things and the occasions. Repeats are rows of equal inputs, one thing and one occasion. If
// most rows have no repeat on their occasion, pairs are of two occasions.
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
	}

	p.declared = declared
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

// holdOut chooses the inputs and the values that the splits hold out, among the rows that make pairs.
func (p *plan) holdOut() {
	s := p.sheet
	if p.hasRepeats() {
		apart := p.Across
		if p.Table != nil && apart == "" {
			apart = p.Table.Run
		}

		if s.KeepPaired(p.declared, apart) == 0 {
			p.note("%s: no row has a repeat, so that there is nothing to compute yet", s.Source)
		}
	}

	inputs := s.VaryingInputs()
	p.Inputs = role.NamesOf(inputs)
	if fixed := except(role.NamesOf(s.WithRole(role.Input)), p.Inputs...); len(fixed) > 0 {
		p.note("%s: no input of the network, since all rows that have a repeat have one value", strings.Join(fixed, ", "))
	}

	p.HeldOut = s.HoldOut()
	for _, column := range s.WithRole(role.Thing, role.Day) {
		isDeclared := slices.Contains(slices.Concat(p.Things, p.Occasions), column.Name)
		if p.EachName == "" && isDeclared && s.CanHoldOut(column) {
			p.EachName = spelling.YAML(column.Name)
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
