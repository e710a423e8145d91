// Package pipelinetest runs small projects for the tests of what reads their results. It is imported
// by tests alone.
package pipelinetest

import (
	"context"
	"os"
	"path/filepath"

	"doubletake/pipeline"
)

// Run writes files of these names into a folder and runs its pipeline.yaml.
func Run(dir string, files map[string]string, o pipeline.Options) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err == nil {
		_, err = p.Run(context.Background(), o)
	}

	return err
}
