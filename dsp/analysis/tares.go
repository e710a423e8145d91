package analysis

import (
	"context"
	"path/filepath"
	"slices"

	"doubletake/dsp/balance"
	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
)

// Loads returns the calculation of outcomes from a balance's channels in a file, with the recordings without wind that
// are subtracted.
func (s *Source) Loads(file *campaign.File, project setting.Project) *balance.Loads {
	loads := &balance.Loads{Balance: s.Balance, Share: file.Share}
	for _, name := range file.Tares {
		loads.Tares = append(loads.Tares, balance.Tare{Name: filepath.ToSlash(name), Path: project.Resolve(name)})
	}

	return loads
}

// CheckTares reads each recording without wind as the analysis of the files will, and returns the first error.
func (s *Source) CheckTares(ctx context.Context, files []campaign.File, project setting.Project) error {
	var read []string // names of recordings without wind
	for i := range files {
		for _, tare := range s.Loads(&files[i], project).Tares {
			if slices.Contains(read, tare.Name) {
				continue
			}

			read = append(read, tare.Name)
			if _, err := s.Balance.Polar(ctx, tare); err != nil {
				return err
			}
		}
	}

	return nil
}
