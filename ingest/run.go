package ingest

import "strings"

// Run is one acquisition at one condition: a file, or a row interval of one.
// Channels of a run were recorded together and share its set-up and speed.
type Run struct {
	ID         string      // unique in the experiment; file path, with "[row0:row1]" when it is an interval
	Path       string      // the file
	Row0, Row1 int64       // sample interval [Row0, Row1); Row1 < 0: to the end
	Recordings []Recording // what the run holds, in the file's channel order
}

// Interval returns the samples of the run in a file of that many: from Row0 up to
// Row1, or to the end where Row1 < 0 or both are 0. It may lie outside of the file.
func (r Run) Interval(samples int64) (from, to int64) {
	if r.Row1 >= 0 && (r.Row1 > 0 || r.Row0 > 0) {
		return r.Row0, r.Row1
	}
	return r.Row0, samples
}

// Place puts the interval of a run, if it is one, before a place in it, for messages.
func (r Run) Place(at string) string {
	return strings.Trim(strings.TrimPrefix(r.ID, r.Path)+", "+at, ", ")
}

// Recording is one channel of a run, or the group of channels sampled at the
// same instants that make one outcome vector (lift and drag).
type Recording struct {
	ID         string             // unique in the experiment: the run's ID, with "#channel" when a run has several
	Channels   []int              // indices into Info.Channels
	Conditions map[string]float64 // independent variables of this recording
	Labels     map[string]string  `json:",omitempty"` // what else tells it apart: the propeller's name, the day
}
