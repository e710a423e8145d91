package findings

import (
	"slices"
)

var (
	// spoiling lists the codes of findings that make data wrong, the worst first.
	spoiling = []string{
		"not-finite", "truncated", "stuck-column", "constant", "sweep", "full-scale", "numeric-header", "clipping",
		"files-swapped", "speed-contradicted", "equal-rows", "far-run", "missing-code", "spikes", "level-apart", "gain-apart",
		"constant-stretch", "cut-short", "speed-differs", "speed-shift",
		"clock-backwards", "clock-gaps", "clock-useless", "odd-rate", "outlier-segment", "harmonic-drift", "drift", "trend",
	}
	// minor lists the codes of findings that are only worth knowing.
	minor = []string{
		"extra-data", "text-column", "no-header", "misnamed-file", "unused-exclude", "unit-not-stated",
		"simulated", "excluded", "rows-without-file",
	}
)

// severity returns a number by which codes of findings are sorted, the worst first: the place of a code among the
// spoiling ones, then other codes, then the minor ones.
func severity(code string) int {
	if i := slices.Index(spoiling, code); i >= 0 {
		return i
	}

	if slices.Contains(minor, code) {
		return len(spoiling) + 1
	}

	return len(spoiling)
}
