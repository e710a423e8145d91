package stages

import (
	"path"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/recording"
)

// callSimulated sets the experiment's kind of data to simulated if the name of a file says so and the configuration
// does not give the kind (given), with a warning. If the configuration gives another kind, it only warns.
func (r *Recordings) callSimulated(files []string, given bool) {
	i := slices.IndexFunc(files, func(name string) bool { return recording.CallsItselfSimulated(path.Base(name)) })
	switch {
	case i < 0 || given && r.Ingest.Data == "simulated":
	case given:
		r.warnings = append(r.warnings, ingest.Warn(files[i], "simulated",
			"is named simulated, but the configuration has data: measured"))
	default:
		r.Ingest.Data = "simulated"
		r.warnings = append(r.warnings, ingest.Warn(files[i], "simulated", "is named simulated: the experiment is called "+
			"simulated; set data: simulated, or data: measured if it was measured"))
	}
}
