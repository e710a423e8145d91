package role

import (
	"cmp"
	"math"
	"path"
	"path/filepath"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/sidecar"
	"doubletake/ingest/vocabulary"
)

// ReadSidecars returns a column for each value that the files next to all recordings state. These files have the names
// of the recordings with the given ending, such as .json, and contain keys and values. dir is the folder of the
// recordings.
func ReadSidecars(dir string, files []string, ending string) (columns []*Column) {
	stated := map[string][]condition.Condition{} // by key
	var keys []string
	for _, file := range files {
		name := strings.TrimSuffix(file, path.Ext(file)) + ending
		values, err := sidecar.ReadValues(filepath.Join(dir, name))
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
		column := &Column{Name: cmp.Or(term, base), Head: key, IsCondition: term != ""}
		column.SetStated(alike)
		columns = append(columns, column)
	}

	return columns
}
