package locate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
)

// DefaultFile is the configuration whose experiments names mean.
const DefaultFile = config.DefaultFile

// want says what a RESULT may be, for errors.
const want = "an experiment, EXPERIMENT/SPLIT, a folder of results or a table"

// Result returns the path of a result, as Path does. It returns a *fault.Error that lists what there is, the nearest
// name first, if nothing has the name.
func Result(name string) (string, error) {
	path, err := Path(name)
	if err != nil {
		return "", err
	}

	if _, err := os.Stat(path); err == nil {
		return path, nil
	}

	file, err := config.LoadDefault("")
	if err != nil {
		return "", err
	}

	if experiment, _ := experimentOf(file, name); experiment != nil { // no run has made its results yet
		return path, nil
	}

	return "", unknown(file, name)
}

// unknown returns the error of a name that means neither an experiment nor a path. It lists the splits or the folders
// that lie where the path would be, or the experiments of the configuration.
func unknown(file *config.File, name string) error {
	parent := filepath.Dir(name)
	base := filepath.Base(name)
	there := folders(parent)
	isPath := parent != "." && there != nil
	hint := ""
	switch {
	case isPath && filepath.Base(parent) == "splits":
		return fault.At(name, "", "a split", "nothing", nearestFirst("the splits there are", base, there))
	case isPath:
		hint = nearestFirst("the folders there are", base, there)
	case len(file.Experiments) > 0:
		hint = nearestFirst("the experiments of "+file.Path+" are", name, experimentNames(file))
	default:
		hint = fmt.Sprintf("names of experiments count where a %s is; elsewhere, name a folder such as runs/EXPERIMENT",
			DefaultFile)
	}

	return fault.At(name, "", want, "nothing", hint)
}

// checkSplit returns a *fault.Error if neither the configuration nor the work directory has a split of this name for
// the experiment. A configuration that holds out each value of a condition knows the names only after a run.
func checkSplit(file *config.File, experiment *config.Experiment, split string) error {
	dir := filepath.Join(file.Resolve(file.Workdir), experiment.Name, "splits")
	known := folders(dir)
	isOpen := false
	for _, s := range experiment.Train.Splits {
		if s.Each != nil {
			isOpen = true
		} else if !slices.Contains(known, s.Name) {
			known = append(known, s.Name)
		}
	}

	namesFollow := isOpen && folders(dir) == nil
	if split == "" || namesFollow || slices.Contains(known, split) {
		return nil
	}

	hint := "the experiment has no splits"
	if len(known) > 0 {
		hint = nearestFirst("its splits are", split, known)
	}

	return fault.At(experiment.Name+"/"+split, "", "a split of "+experiment.Name,
		fmt.Sprintf("none of the name %q", split),
		hint)
}

// nearestFirst writes a list of names, the one nearest to a misspelt name first.
func nearestFirst(head, name string, known []string) string {
	return head + " " + strings.Join(spelling.Nearest(name, known, len(known)), ", ")
}

// folders returns the names of the folders in a folder, without hidden ones, or nil if there are none.
func folders(dir string) []string {
	entries, _ := os.ReadDir(dir) // a folder that cannot be read has no names for a message
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}

	return names
}

// experimentNames returns the names of the experiments of a configuration.
func experimentNames(file *config.File) []string {
	var names []string
	for _, experiment := range file.Experiments {
		names = append(names, experiment.Name)
	}

	return names
}
