package analysis

import "doubletake/dsp"

// typicalMicrophones is a guess for the number of microphones of a run whose file was not opened.
const typicalMicrophones = 12

// PairsPerRow returns the largest number of pairs that a row of conditions gives, and 0 if the number depends on the
// contents of the files. byChannel tells whether each row means one channel of a file.
func (s *Source) PairsPerRow(byChannel bool) int {
	switch c := s.Construction.(type) {
	case dsp.PerRun:
		return c.PairsPerRun(s.DSP)

	case dsp.OfSpectra:
		if !c.Describe().Repeats && byChannel {
			return 1
		}
	}

	return 0
}

// Size estimates how many conditions and pairs a campaign has, from the numbers of its files and of its rows of
// conditions. byChannel tells whether each row means one channel of a file.
func (s *Source) Size(files, rows int, byChannel bool) (conditions, pairs float64) {
	conditions = float64(max(rows, 1))
	if _, spectra := s.Construction.(dsp.OfSpectra); spectra && rows <= files { // a row is not one channel
		conditions *= typicalMicrophones
	}

	return conditions, conditions * float64(max(s.PairsPerRow(byChannel), 1))
}
