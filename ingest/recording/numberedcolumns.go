package recording

import (
	"doubletake/ingest"
)

// WarnNumberedColumns returns a warning if texts without names of columns have different numbers of columns: column 3
// of one may be column 2 of the other.
func WarnNumberedColumns(files []*File) []ingest.Warning {
	var first *File
	for _, file := range files {
		switch {
		case !file.Info.HasNumberedColumns():
		case first == nil:
			first = file
		case len(file.Info.Channels) != len(first.Info.Channels):
			return []ingest.Warning{ingest.Warn(file.Path, "numbered-columns", "its %d columns have no names, and %s has %d: "+
				"the same number may mean another quantity in the two; leave one kind out with exclude under "+
				"ingest, or read each kind in an "+
				"experiment of its own", len(file.Info.Channels), first.Path, len(first.Info.Channels))}
		}
	}

	return nil
}
