package config

import (
	"strings"

	"doubletake/ingest/setting"
	"doubletake/ingest/sidecar"
)

// validateSidecar reports faults of the section, which is at key.
func validateSidecar(s *setting.Sidecar, key string, fail failFunc) {
	fail.when(s.Ending == "" || strings.ContainsAny(s.Ending, `/\`), key,
		"expected the ending of the files next to the recordings, e.g. .yaml, found %q", s.Ending)
}

// Value is a number or a text of a file of keys and values.
type Value = sidecar.Value

// ReadValues reads the values of a YAML (or JSON) file of keys and values.
func ReadValues(path string) ([]Value, error) { return sidecar.ReadValues(path) }
