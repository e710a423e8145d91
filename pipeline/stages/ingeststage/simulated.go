package ingeststage

import (
	"path"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/pipeline/stages/plan"
)

// callsItselfSimulated reports whether a name or a text of a file begins with "simulated".
func callsItselfSimulated(s string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "simulated")
}

// callSimulated sets the experiment's kind of data to simulated if the name of a file says so and the configuration
// does not give the kind (given), with a warning. If the configuration gives another kind, it only warns.
func (r *Recordings) callSimulated(files []string, given bool) {
	i := slices.IndexFunc(files, func(name string) bool { return callsItselfSimulated(path.Base(name)) })
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

// simulatedByContent warns if an attribute of a file says "simulated" although the experiment is called measured.
func simulatedByContent(src *plan.Source, info ingest.Info) []ingest.Warning {
	if src.Ingest.Data == "simulated" {
		return nil
	}

	for _, a := range info.Attributes {
		isSet := !strings.EqualFold(a.Value, "false") && a.Value != "0"
		if callsItselfSimulated(a.Name) && isSet || callsItselfSimulated(a.Value) {
			return []ingest.Warning{ingest.Warn(info.Path, "simulated", "calls itself simulated (%s: %s), but the "+
				"experiment is called measured: set data: simulated", a.Name, a.Value)}
		}
	}

	return nil
}
