package campaign

import (
	"path"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/recording"
)

// callSimulated sets the kind of data to simulated if the name of a file says so and the settings do not give the kind,
// with a warning. If the settings give another kind, it only warns.
func (v *Inventory) callSimulated(files []string) {
	isGiven := v.Project.IsGiven("data")
	i := slices.IndexFunc(files, func(name string) bool { return recording.CallsItselfSimulated(path.Base(name)) })
	switch {
	case i < 0 || isGiven && v.Settings.Data == "simulated":
	case isGiven:
		v.Warnings = append(v.Warnings, ingest.Warn(files[i], "simulated",
			"is named simulated, but the configuration has data: measured"))
	default:
		v.Settings.Data = "simulated"
		v.Warnings = append(v.Warnings, ingest.Warn(files[i], "simulated", "is named simulated: the experiment is called "+
			"simulated; set data: simulated, or data: measured if it was measured"))
	}
}
