package recording

import (
	"strings"

	"doubletake/ingest"
)

// CallsItselfSimulated reports whether a name or a text of a file begins with "simulated".
func CallsItselfSimulated(s string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "simulated")
}

// WarnSimulated returns a warning if an attribute of a file says "simulated" although the experiment is called
// measured. data is the kind of data that the experiment is called.
func WarnSimulated(data string, info ingest.Info) []ingest.Warning {
	if data == "simulated" {
		return nil
	}

	for _, a := range info.Attributes {
		isSet := !strings.EqualFold(a.Value, "false") && a.Value != "0"
		if CallsItselfSimulated(a.Name) && isSet || CallsItselfSimulated(a.Value) {
			return []ingest.Warning{ingest.Warn(info.Path, "simulated", "calls itself simulated (%s: %s), but the "+
				"experiment is called measured: set data: simulated", a.Name, a.Value)}
		}
	}

	return nil
}
