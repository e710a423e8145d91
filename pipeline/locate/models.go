package locate

import (
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

	return predict.Open(path, engine.Genuine)
}
