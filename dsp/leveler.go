package dsp

import (
	"fmt"
	"math"
)

// leveler turns mean squares into values of an outcome, by the settings output and distance.
type leveler struct {
	decibel bool    // values are levels; otherwise mean squares
	ref     float64 // reference of levels, a root mean square; unused for mean squares
	shift   float64 // normalisation to another distance, dB
	suffix  string  // end of the outcome's name: "db" or "power"
	unit    string  // of the values
	meaning string  // start of the outcome's description: "level", "mean square", …
}

// leveler returns the leveler for microphones in that unit.
func (s *Settings) leveler(unit string) leveler {
	l := leveler{suffix: "power", unit: unit + "²", meaning: "mean square"}
	if s.Output == "dB" {
		l = leveler{decibel: true, suffix: "db", meaning: "level"}
		l.ref, l.unit = Reference(unit)
	}

	if s.Distance != nil {
		l.shift = DistanceDB(s.Distance.FromM, s.Distance.ToM)
		l.meaning += fmt.Sprintf(", normalised from %g m to %g m", s.Distance.FromM, s.Distance.ToM)
	}

	return l
}

// levelNames returns each name with the suffix of levels, "_db" or "_power".
func (s *Settings) levelNames(names ...string) []string {
	suffix := "_" + s.leveler("").suffix
	var completed []string
	for _, name := range names {
		completed = append(completed, name+suffix)
	}

	return completed
}

// value returns the value of the outcome for a mean square.
func (l *leveler) value(meanSquare float64) float64 {
	if l.decibel {
		return LevelDB(meanSquare, l.ref) + l.shift
	}
	return meanSquare * math.Pow(10, l.shift/10)
}
