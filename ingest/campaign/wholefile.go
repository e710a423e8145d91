package campaign

import (
	"doubletake/ingest"
)

// WholeFile returns all samples of an open file as one run without conditions.
func WholeFile(info ingest.Info, group Grouping) (ingest.Run, error) {
	group.Own = nil
	runs, _, err := Assemble(info, nil, nil, group)
	if err != nil {
		return ingest.Run{}, err
	}

	return runs[0], nil
}
