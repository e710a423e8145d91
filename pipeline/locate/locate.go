// Package locate finds what a command is about. The user names an experiment of the configuration, a split of it, a
// folder of results or a table.
package locate

import (
	"os"
	"path/filepath"

	"doubletake/pipeline/config"
	"doubletake/report/pairs"
)

// Pairs finds pairs. name is an experiment of the configuration, EXPERIMENT/SPLIT, the folder of either, which mean all
// pairs of the experiment, a triplets.arrow, or a table with columns OUTCOME_1 and OUTCOME_2. configuration is the path
// of a configuration. If it is "", Pairs reads pipeline.yaml if there is one. experiment is nil if the configuration
// does not have it. Pairs returns a *fault.Error if the name means
// nothing.
func Pairs(name, configuration string) (source pairs.Source, experiment *config.Experiment, err error) {
	file, err := config.LoadDefault(configuration)
	if err != nil {
		return pairs.Source{}, nil, err
	}

	source, experiment, err = find(file, name)
	if err != nil {
		return pairs.Source{}, nil, err
	}

	source.Name = name
	source.Stated = experiment.Stated()

	return source, experiment, nil
}

// find returns the source of the pairs that a name means, and their experiment.
func find(file *config.File, name string) (source pairs.Source, experiment *config.Experiment, err error) {
	if _, err := os.Stat(name); err != nil {
		return findExperiment(file, name)
	}

	source = pairs.FromPath(name)
	if source.Dir == "" {
		return source, nil, nil
	}

	experiment = experimentIn(file, source.Dir)
	if experiment != nil && experiment.Variant != nil { // a variant may have the pairs of its experiment
		owner := filepath.Join(file.Resolve(file.Workdir), experiment.Owner("dsp"))
		source.Path = pairs.FromPath(owner).Path
	}

	return source, experiment, nil
}

// experimentIn returns the experiment of the configuration whose results are in a folder: below the work directory by
// its whole name, elsewhere, as in a copy, by the name of the folder. It returns nil if there is none.
func experimentIn(file *config.File, folder string) *config.Experiment {
	below, err := belowWorkdir(file, folder)
	if err == nil && filepath.IsLocal(below) {
		return file.Experiment(filepath.ToSlash(below))
	}

	return file.Experiment(filepath.Base(folder))
}

// findExperiment returns the path, the folder and the split of the pairs of an experiment of the configuration.
func findExperiment(file *config.File, name string) (source pairs.Source, experiment *config.Experiment, err error) {
	experiment, split := experimentOf(file, name)
	if experiment == nil {
		return pairs.Source{}, nil, unknown(file, name)
	}

	if err := checkSplit(file, experiment, split); err != nil {
		return pairs.Source{}, nil, err
	}

	workdir := file.Resolve(file.Workdir)
	owner := filepath.Join(workdir, experiment.Owner("dsp"))
	if _, err := os.Stat(owner); err != nil {
		return pairs.Source{Path: owner}, nil, nil
	}

	source = pairs.FromPath(owner)
	source.Dir = filepath.Join(workdir, experiment.Name)
	source.Split = split

	return source, experiment, nil
}

// Path returns the path of a result. If name is an existing path, Path returns it. If name is an experiment of
// pipeline.yaml or EXPERIMENT/SPLIT, Path returns the folder of the experiment or of the split, or a *fault.Error if
// the experiment has no such split. It returns any other name unchanged.
func Path(name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}

	file, err := config.LoadDefault("")
	if err != nil {
		return "", err
	}

	experiment, split := experimentOf(file, name)
	if experiment == nil {
		return name, nil
	}

	if err := checkSplit(file, experiment, split); err != nil {
		return "", err
	}

	dir := filepath.Join(file.Resolve(file.Workdir), experiment.Name)
	if split != "" {
		dir = filepath.Join(dir, "splits", filepath.FromSlash(split))
	}

	return dir, nil
}

// Folder returns the folder of a result: the path that Result returns or, if this path is an Arrow table, the folder of
// the result that the table belongs to.
func Folder(name string) (string, error) {
	path, err := Result(name)
	if err != nil {
		return "", err
	}

	if filepath.Ext(path) != ".arrow" {
		return path, nil
	}

	dir := filepath.Dir(path)
	if filepath.Base(dir) == "report" {
		dir = filepath.Dir(dir)
	}

	return dir, nil
}

// experimentOf returns the experiment that a name means. If the name is EXPERIMENT/SPLIT, it returns the split too. It
// returns nil if the configuration has no such experiment.
func experimentOf(file *config.File, name string) (experiment *config.Experiment, split string) {
	name = filepath.ToSlash(name)
	if experiment := file.Experiment(name); experiment != nil {
		return experiment, ""
	}

	for end := len(name) - 1; end > 0; end-- { // names of variants have slashes
		if name[end] != '/' {
			continue
		}

		if experiment := file.Experiment(name[:end]); experiment != nil {
			return experiment, name[end+1:]
		}
	}

	return nil, ""
}
