package role

import (
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
	"doubletake/ingest/vocabulary"
)

// ReadAttributes returns a column for each attribute that the headers of all files state. Attributes that are the same
// everywhere count only if the program knows their names. infos has a header for each file, and is not empty.
func ReadAttributes(infos []ingest.Info) (columns []*Column) {
	for _, attribute := range infos[0].Attributes {
		column := newAttributeColumn(attribute.Name)
		isOfNoUse := !column.IsCondition && isSameInAll(attribute, infos)
		if isOfNoUse || !vocabulary.Identifier.MatchString(column.Name) {
			continue
		}

		stated := statedIn(infos, attribute.Name, column.Name)
		if stated == nil {
			continue
		}

		column.SetStated(stated)
		columns = append(columns, column)
	}

	return columns
}

// ReadHeaderSetting returns the column of a setting that the headers of all files state as a number and that differs
// between them, or nil if the attribute is not such a setting. The name of the attribute may end with the unit of the
// numbers: "Speed [rpm]". ReadHeaderSetting returns nil if a known setting has another unit than this one.
func ReadHeaderSetting(infos []ingest.Info, attribute string) *Column {
	name, unit := text.SplitUnit(attribute)
	column := newAttributeColumn(name)
	column.Head = attribute
	column.Name = strings.Join(strings.FieldsFunc(column.Name, cannotBeInName), "_")
	if term := vocabulary.TermOf(name, unit); unit != "" && term != "" {
		column.Name = term
		column.IsCondition = true
	}

	conversion, err := units.ToName(column.Name, unit)
	if err != nil || column.IsAir() || column.IsNumbered() || !vocabulary.Identifier.MatchString(column.Name) {
		return nil
	}

	stated := statedIn(infos, attribute, column.Name)
	if stated == nil || stated[0].IsName {
		return nil
	}

	for i, cell := range stated {
		if cell.Unit == "" { // otherwise the number has its own unit, and is converted already
			stated[i].Value = conversion.Apply(cell.Value)
		}
	}

	column.SetStated(stated)
	isSetting := column.IsCondition || column.HasWord(vocabulary.Inputs) || column.RepeatsValues()
	if !isSetting || column.CountDistinct() < 2 {
		return nil
	}

	column.SetRole(Input, OfHeaders)

	return column
}

// cannotBeInName reports whether a character cannot be a part of the name of a column.
func cannotBeInName(r rune) bool { return !vocabulary.Identifier.MatchString("a" + string(r)) }

// newAttributeColumn returns an empty column for an attribute, with the name that the program has for it if it knows
// one.
func newAttributeColumn(attribute string) *Column {
	base := attribute[strings.LastIndexAny(attribute, "/.@")+1:]
	column := &Column{Name: base, Head: attribute}
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
