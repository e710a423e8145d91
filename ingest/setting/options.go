package setting

import (
	"strconv"

	"doubletake/ingest"
)

// Options returns how the settings open a file. Codes for missing values that are not numbers belong to tables and are
// left out.
func (c *Campaign) Options() ingest.Options {
	options := ingest.Options{
		Format: c.Format, RateHz: c.RateHz, Truncated: c.Truncated, Text: c.Text, Arrays: c.Arrays,
	}

	for _, code := range c.Missing {
		if value, err := strconv.ParseFloat(code, 64); err == nil {
			options.Missing = append(options.Missing, value)
		}
	}

	return options
}
