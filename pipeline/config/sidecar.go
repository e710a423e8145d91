package config

import (
	"strings"

	"doubletake/ingest/setting"
)

// validateSidecar reports faults of the section, which is at key.
func validateSidecar(s *setting.Sidecar, key string, fail failFunc) {
	fail.when(s.Ending == "" || strings.ContainsAny(s.Ending, `/\`), key,
		"expected the ending of the files next to the recordings, e.g. .yaml, found %q", s.Ending)
}
