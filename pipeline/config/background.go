package config

// Background names the recordings without the source under test.
type Background struct {
	// recordings of the background: one or more globs; files that are also the experiment's are left out there
	Files []string `key:"files" path:"yes"`
}

func (b *Background) validate(_ *File, e *Experiment, key string, fail failFunc) {
	fail.when(len(b.Files) == 0, key, "expected files: GLOB")
	fail.when(len(e.Ingest.Columns) > 0, key, "belongs to microphones; what a balance reads without wind is balance.tare")
}
