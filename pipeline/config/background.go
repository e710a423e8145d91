package config

// Background names the recordings without the source under test.
type Background struct {
	// recordings of the background: one or more globs; files that are also the experiment's are left out there
	Files []string `key:"files"`

	// or a condition (a column of the table, or in the file names) that is not zero for recordings of the
	// background
	Condition string `key:"condition"`
}

func (b *Background) validate(e *Experiment, key string, fail failFunc) {
	if (len(b.Files) > 0) == (b.Condition != "") {
		fail(key, "expected files: GLOB or condition: NAME, found %s",
			map[bool]string{true: "both", false: "neither"}[b.Condition != ""])
	}

	if len(e.Ingest.Columns) > 0 {
		fail(key, "belongs to microphones; what a balance reads without wind is balance.tare")
	}
}
