package locate

import (
	"fmt"
	"path/filepath"
	"strings"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/report/answer/predict"
)

// Models opens the models that a name means: an experiment of pipeline.yaml, EXPERIMENT/SPLIT, or a path that
// predict.Open takes. It returns an error if a file is not as the pipeline wrote it.
func Models(name string) (*predict.Models, error) {
	path, err := Folder(name)
	if err != nil {
		return nil, err
	}

	models, err := predict.Open(path, engine.Genuine)
	if err != nil {
		return nil, err
	}

	if old := formerExperiment(path); old != "" {
		models.Warnings = append(models.Warnings, old)
	}

	return models, nil
}

// formerExperiment returns a warning if path lies in the work directory of pipeline.yaml and in the folder of no
// experiment: the models then belong to an experiment that was renamed or removed. It returns "" otherwise, and if
// there is no pipeline.yaml that can be read.
func formerExperiment(path string) string {
	file, err := config.LoadDefault("")
	if err != nil || len(file.Experiments) == 0 {
		return ""
	}

	below, err := belowWorkdir(file, path)
	if err != nil || !filepath.IsLocal(below) || below == "." {
		return ""
	}

	below = filepath.ToSlash(below)
	for _, e := range file.Experiments {
		if below == e.Name || strings.HasPrefix(below, e.Name+"/") {
			return ""
		}
	}

	return fmt.Sprintf("the models are old: %s has no experiment of this name", file.Path)
}

// belowWorkdir returns the path relative to the work directory of a configuration.
func belowWorkdir(file *config.File, path string) (string, error) {
	workdir, err := filepath.Abs(file.Resolve(file.Workdir))
	if err != nil {
		return "", err
	}

	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}

	return filepath.Rel(workdir, absolute)
}
