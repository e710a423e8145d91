package config

// Background names the recordings without the source under test.
type Background struct {
	Files     []string `key:"files" doc:"recordings of the background: one or more globs; what is among the experiment's files too is left out there"`
	Condition string   `key:"condition" doc:"or a condition (a column of the table, or in the file names) that is not zero for recordings of the background"`
}

func (b *Background) validate(e *Experiment, key string, fail func(key, format string, args ...any)) {
	if (len(b.Files) > 0) == (b.Condition != "") {
		fail(key, "expected files: GLOB or condition: NAME, found %s", map[bool]string{true: "both", false: "neither"}[b.Condition != ""])
	}
	if len(e.Ingest.Columns) > 0 {
		fail(key, "belongs to microphones; what a balance reads without wind is balance.tare")
	}
}
