package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// From a table of pairs to metrics; here only as far as the triplets.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	for name, text := range map[string]string{
		"pairs.csv": "alpha_deg,cl_1,cl_2\n0,0.01,0.02\n4,0.43,0.44\n8,0.85,0.84\n",
		"pipeline.yaml": `version: 1
experiments:
  wing:
    ingest: {table: pairs.csv}
    train: {inputs: [alpha_deg], splits: {eight: {test: {alpha_deg: 8}}}}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		fmt.Println(err)
		return
	}

	for i := 0; i < 2; i++ {
		r, err := p.Run(context.Background(), engine.Options{Jobs: 1, Selection: engine.Selection{To: "dsp"}})
		if err != nil {
			fmt.Println(err)
			return
		}

		for _, s := range r.Stages {
			if s.Tasks > 0 {
				fmt.Printf("%s: %d made, %d up to date\n", s.Stage, s.Ran, s.Cached)
			}
		}
	}
	// Output:
	// ingest: 1 made, 0 up to date
	// dsp: 1 made, 0 up to date
	// ingest: 0 made, 1 up to date
	// dsp: 0 made, 1 up to date
}
