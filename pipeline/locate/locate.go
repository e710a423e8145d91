// Package locate finds what a command is about. The user names an experiment of the configuration, a split of it, a
// folder of results or a table.
package locate

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"doubletake/pipeline/config"
	"doubletake/report/pairs"
)

// Pairs finds pairs. name is an experiment of the configuration, EXPERIMENT/SPLIT, the folder of either, which mean all
// pairs of the experiment, a triplets.arrow, or a table with columns OUTCOME_1 and OUTCOME_2. An experiment hides a
// folder of its name that has no results, such as the folder of its recordings. configuration is the path of a
// configuration. If it is "", Pairs reads pipeline.yaml if there is one. experiment is nil if the pairs are in another
// table than a triplets.arrow, or if the configuration does not have their experiment. Pairs returns a *fault.Error if
// the name means nothing.
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
	if !isPath(name) && (isExperiment(file, name) || !exists(name)) {
		return findExperiment(file, name)
	}

	source = pairs.FromPath(name)
	if source.Dir == "" {
		return source, experimentOfTable(file, name), nil
	}

	experiment = experimentIn(file, source.Dir)
	if experiment != nil && experiment.Variant != nil { // a variant may have the pairs of its experiment
		owner := filepath.Join(file.Resolve(file.Workdir), experiment.Owner("dsp"))
		source.Path = pairs.FromPath(owner).Path
	}

	return source, experiment, nil
}

// exists reports whether there is a file or a folder at a path.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// isPath reports whether a name is the path of a file or of a folder with results. A folder has results if it is a
// split, or if it has pairs or splits.
func isPath(name string) bool {
	info, err := os.Stat(name)
	if err != nil {
		return false
	}

	isSplit := filepath.Base(filepath.Dir(filepath.Clean(name))) == "splits"
	hasResults := exists(filepath.Join(name, pairs.TripletsArrow)) || exists(filepath.Join(name, "splits"))

	return !info.IsDir() || isSplit || hasResults
}

// isExperiment reports whether a name is an experiment of the configuration, or EXPERIMENT/SPLIT with a split that was
// made.
func isExperiment(file *config.File, name string) bool {
	experiment, split := experimentOf(file, name)
	if experiment == nil {
		return false
	}

	return split == "" || exists(folderOf(file, experiment, split))
}

// folderOf returns the folder of an experiment in the work directory, or of a split of it if split is not "".
func folderOf(file *config.File, experiment *config.Experiment, split string) string {
	dir := filepath.Join(file.Resolve(file.Workdir), experiment.Name)
	if split == "" {
		return dir
	}

	return filepath.Join(dir, "splits", filepath.FromSlash(split))
}

// experimentOfTable returns the experiment of a table that is a triplets.arrow. It returns nil for any other table.
func experimentOfTable(file *config.File, table string) *config.Experiment {
	if filepath.Base(table) != pairs.TripletsArrow {
		return nil
	}

	return experimentIn(file, filepath.Dir(table))
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

	owner := filepath.Join(file.Resolve(file.Workdir), experiment.Owner("dsp"))
	if !exists(owner) { // Open reports that the experiment was not run
		return pairs.Source{Path: owner}, experiment, nil
	}

	source = pairs.FromPath(owner)
	source.Dir = folderOf(file, experiment, "")
	source.Split = split

	return source, experiment, nil
}

// Path returns the path of a result. If name is a file or a folder with results, Path returns it. If name is an
// experiment of pipeline.yaml or EXPERIMENT/SPLIT, Path returns the folder of the experiment or of the split, or a
// *fault.Error if the experiment has no such split. It returns any other name unchanged.
func Path(name string) (string, error) {
	if isPath(name) {
		return name, nil
	}

	file, err := config.LoadDefault("")
	if err != nil {
		return "", err
	}

	experiment, split := experimentOf(file, name)
	isFolder := exists(name) && !isExperiment(file, name)
	if experiment == nil || isFolder {
		return name, nil
	}

	if err := checkSplit(file, experiment, split); err != nil {
		return "", err
	}

	return folderOf(file, experiment, split), nil
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

// experimentOf returns the experiment that a name means. If the name is EXPERIMENT/SPLIT, it returns the split too. The
// name may end with a slash. It returns nil if the configuration has no such experiment, and for a name that begins
// with a point: ./rig is a path.
func experimentOf(file *config.File, name string) (experiment *config.Experiment, split string) {
	if strings.HasPrefix(name, ".") {
		return nil, ""
	}

	name = path.Clean(filepath.ToSlash(name))
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
