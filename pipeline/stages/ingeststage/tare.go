package ingeststage

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/pipeline/stages/plan"
)

// isTare reports whether the configuration names a file as the recording without wind.
func (r *Recordings) isTare(file string) bool {
	bal := r.Ingest.Balance
	return bal != nil && bal.Tare != nil && filepath.Clean(bal.Tare.File) == filepath.Clean(file)
}

// ownTare returns the recording without wind that a column of the table of conditions names for a file. All rows of the
// file must name the same one. conds are these rows.
func ownTare(column string, conds *campaign.Conditions, name string) (string, error) {
	if conds == nil {
		return "", fault.At(name, "", "a table of conditions with the column "+column, "none", "")
	}

	if !slices.Contains(conds.Labels, column) {
		return "", fault.At(conds.Path, "", "a column "+column+" with the names of recordings without wind",
			"columns of text: "+strings.Join(conds.Labels, ", "), "")
	}

	own := ""
	for i, r := range conds.Rows {
		cell, _ := r.Name(column)
		cell = strings.TrimSpace(cell)
		place := fmt.Sprintf("line %d, column %s", r.Line, column)
		if cell == "" {
			return "", fault.At(conds.Path, place, "the recording without wind of "+name, "an empty cell", "")
		}

		if i > 0 && cell != own {
			return "", fault.At(conds.Path, place, fmt.Sprintf("%q, as for the other intervals of %s", own, name),
				strconv.Quote(cell), "")
		}

		own = cell
	}

	return own, nil
}

// tareColumns returns the columns that name the recordings without wind, or nil if there are none.
func tareColumns(settings *setting.Campaign) []string {
	if settings.Balance == nil || settings.Balance.Tare == nil || settings.Balance.Tare.Column == "" {
		return nil
	}

	return removeNames([]string{settings.Balance.Tare.Column, settings.Balance.Tare.Closing}, isEmpty)
}

// tareCell is what a row of a recording states about a recording without wind.
type tareCell struct {
	name   string
	folder string // of the row's recording
}

// takeTares replaces the names of recordings without wind in the table of conditions by their paths, and drops warnings
// about them. It returns files without them, because they are not measurements of the campaign. A name in the table is
// a path from the folder of the configuration or of the recording, or a file name without folder and ending.
func (r *Recordings) takeTares(exp plan.Experiment, recordings, files []string) ([]string, error) {
	columns := tareColumns(&r.Ingest)
	if columns == nil || r.Table == nil {
		return files, nil
	}

	near := filesNear(exp.File.Dir, recordings)
	located := map[tareCell]string{}
	tares := map[string]bool{}
	measured := map[string]bool{}
	for i, meant := range r.Table.FilesOf(recordings) {
		if len(meant) == 0 {
			continue
		}

		row := r.Table.Rows[i]
		folder := path.Dir(filepath.ToSlash(recordings[meant[0]]))
		measured[path.Base(filepath.ToSlash(row.File))] = true
		for k := range row.States {
			cond := &row.States[k]
			if !cond.IsName || !slices.Contains(columns, cond.Column) {
				continue
			}

			cell := tareCell{name: cond.Name, folder: folder}
			if located[cell] == "" {
				place := fmt.Sprintf("line %d, column %s", row.Line, cond.Column)
				tare, err := r.tarePath(exp, cell, place, near)
				if err != nil {
					return nil, err
				}

				located[cell] = tare
			}

			cond.Name = located[cell]
			tares[cond.Name] = true
		}
	}

	r.warnings = slices.DeleteFunc(r.warnings, func(warning ingest.Warning) bool {
		return tares[filepath.ToSlash(warning.Path)]
	})

	return removeNames(files, func(p string) bool {
		s := filepath.ToSlash(p)
		return tares[s] && !measured[path.Base(s)]
	}), nil
}

// filesNear lists the recordings, and the files in a folder and up to two levels below it.
func filesNear(dir string, recordings []string) []string {
	var near []string
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		names, _, _, _ := campaign.Find([]string{pattern}, nil, dir) // an error means that no file matches
		near = append(near, names...)
	}

	return unique(near, recordings)
}

// tarePath returns the path of a recording without wind that a cell of the table names, and an error if there is no
// such file. place describes the cell for messages, and files are the paths that may be meant.
func (r *Recordings) tarePath(exp plan.Experiment, cell tareCell, place string, files []string) (string, error) {
	tare, err := r.locate(cell, place, files)
	if err != nil {
		return "", err
	}

	if _, err := os.Stat(exp.File.Resolve(tare)); err != nil {
		return "", fault.At(r.Ingest.Conditions, place, "a recording without wind", fmt.Sprintf("no file %q", cell.name),
			"write its path")
	}

	return tare, nil
}

// locate finds the path of a recording without wind among files. Files in the folder of the run win over others. If no
// file has the name, locate returns the name. If several have it, it returns an error.
func (r *Recordings) locate(cell tareCell, place string, files []string) (string, error) {
	var found []string
	for _, i := range campaign.FilesOf([]string{strings.TrimSpace(cell.name)}, files)[0] {
		found = append(found, files[i])
	}

	beside := removeNames(found, func(f string) bool { return path.Dir(f) != cell.folder })
	if len(beside) > 0 {
		found = beside
	}

	switch len(found) {
	case 0:
		return cell.name, nil
	case 1:
		return found[0], nil
	}

	err := fmt.Errorf("expected one recording without wind, found %q and %q", found[0], found[1])

	return "", &fault.Error{Path: r.Ingest.Conditions, Place: place, Err: err, Hint: "write more of the path"}
}

// findTares stores the recordings without wind of each file and, if a linear drift is taken out, the place of its runs
// between them. The rows of the table that name the same two recordings are taken to be equally spaced in time: the
// first recording without wind was made one step before their first row, the second one step after their last. A file
// with several rows is placed by its first row.
func (r *Recordings) findTares(exp plan.Experiment) error {
	if r.Ingest.Balance == nil || r.Ingest.Balance.Tare == nil {
		return nil
	}

	tare := r.Ingest.Balance.Tare
	columns := tareColumns(&r.Ingest)
	lines := map[string][]int{} // line numbers of the rows, by the recordings without wind that they name
	if tare.Drift == "linear" {
		for _, row := range r.Table.Rows {
			names := namesIn(row, columns)
			lines[names] = append(lines[names], row.Line)
		}
	}

	for i := range r.Files {
		f := &r.Files[i]
		for _, name := range removeNames([]string{tare.File, tare.Column, tare.Closing}, isEmpty) {
			own, err := r.tareName(f, tare, name)
			if err != nil {
				return err
			}

			file, err := exp.Named(own)
			if err != nil {
				return err
			}

			f.Tares = append(f.Tares, file)
		}

		switch tare.Drift {
		case "mean":
			f.Share = 0.5
		case "linear":
			own := f.Rows.Rows[0]
			same := lines[namesIn(own, columns)]
			f.Share = float64(own.Line-same[0]+1) / float64(same[len(same)-1]-same[0]+2)
		}
	}

	return nil
}

// namesIn returns the names that a row states in columns as one text, which can be compared.
func namesIn(row campaign.ConditionRow, columns []string) string {
	names := ""
	for _, c := range columns {
		name, _ := row.Name(c)
		names += strconv.Quote(name)
	}

	return names
}
