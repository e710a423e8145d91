package campaign

// matchRows stores in each file its rows of the table of conditions and the conditions that its name states. It warns
// of a run whose files state several values of a condition. It returns an error if a file or a row has no partner, or
// if the pattern does not match a name.
func (v *Inventory) matchRows() error {
	if v.Table != nil {
		tables, err := v.Table.ForFiles(v.Names())
		if err != nil {
			return err
		}

		for i, rows := range tables {
			v.Files[i].Rows = rows
		}
	}

	if v.Pattern == nil {
		return nil
	}

	for i := range v.Files {
		named, err := v.Pattern.Match(v.Files[i].Name)
		if err != nil {
			return err
		}

		v.Roles.Spellings.Rename(named)
		v.Files[i].Named = named
	}

	v.warnRuns()

	return nil
}

// IsByChannel reports whether every file has rows in the table of conditions, and each of these rows means one channel
// of the file. It returns true if there are no files.
func (v *Inventory) IsByChannel() bool {
	for _, file := range v.Files {
		if file.Rows == nil {
			return false
		}

		for _, row := range file.Rows.Rows {
			if row.Channel == "" {
				return false
			}
		}
	}

	return true
}
