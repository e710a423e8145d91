package config

// Background names the recordings without the source under test.
type Background struct {
	// recordings of the background: one or more globs; files that are also the experiment's are left out there
	Files []string `key:"files" path:"yes"`
}

func (b *Background) validate(_ *File, e *Experiment, key string, fail failFunc) {
	if len(b.Files) == 0 {
		fail(key, "expected files: GLOB")
	}

	if len(e.Ingest.Columns) > 0 {
		fail(key, "belongs to microphones; what a balance reads without wind is balance.tare")
	}
}
