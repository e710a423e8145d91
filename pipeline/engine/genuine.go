package engine

import (
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Genuine returns a function that checks whether the given files are the outputs of one result. location is a path in
// the same experiment of a work directory as these files. If a file is not, it was damaged, edited or exchanged, and
// the function returns a *FileError. The function always returns nil if location is in no work directory or the cache
// has no results of the experiment: the files may be in a folder that was copied, or gc may have removed the results.
func Genuine(location string) func(files ...string) error {
	location, err := filepath.Abs(location)
	if err != nil {
		return acceptAll
	}

	dir, ok := workdirAround(location)
	if !ok {
		return acceptAll
	}

	below, _ := filepath.Rel(dir, location) // cannot fail: location is in dir
	experiment, _, _ := strings.Cut(filepath.ToSlash(below), "/")
	store := openStore(dir)
	known := knownOutputs{experiment: experiment, results: map[content]map[string]bool{}}
	for task, record := range store.index.Tasks {
		known.add(record.Key, task, record.Outputs)
	}

	return func(files ...string) error {
		if known.check(files) == nil {
			return nil
		}

		// The files may be older than the index, which has only the last result of each task.
		for _, object := range Matches(store.cache("objects"), "*/*") {
			if manifest, _, err := readManifest(object); err == nil {
				known.add(filepath.Base(object), manifest.Task, manifest.Outputs)
			}
		}

		if len(known.results) == 0 {
			return nil
		}

		return known.check(files)
	}
}

// acceptAll returns nil: nothing is known about the files.
func acceptAll(...string) error { return nil }

// workdirAround returns the innermost folder around location, or location itself, that is a work directory. It returns
// false if there is none.
func workdirAround(location string) (dir string, ok bool) {
	for dir = location; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".cache", "objects")); err == nil {
			return dir, true
		}

		if dir == filepath.Dir(dir) { // the root
			return "", false
		}
	}
}

// content identifies an output by its name without folders and by its SHA-256, as hex.
type content struct{ name, sum string }

// knownOutputs are the outputs of an experiment's results.
type knownOutputs struct {
	experiment string
	results    map[content]map[string]bool // for each output the keys of the results that have it
}

// add adds the outputs of the result with a key, unless its task belongs to another experiment.
func (k *knownOutputs) add(key, task string, outputs []output) {
	if !strings.HasPrefix(task, k.experiment+"/") {
		return
	}

	for _, output := range outputs {
		c := content{path.Base(output.Name), output.SHA256}
		if k.results[c] == nil {
			k.results[c] = map[string]bool{}
		}

		k.results[c][key] = true
	}
}

// check returns an error unless all files are outputs of one and the same result. The error names the first file that
// does not belong to a result together with the files before it. A file that cannot be read is not reported here: the
// function that needs it reports it.
func (k *knownOutputs) check(files []string) error {
	var common map[string]bool // keys of the results that have all files so far
	for i, file := range files {
		sum, _, err := hashFile(file)
		if err != nil {
			return nil //nolint:nilerr // see above
		}

		results := maps.Clone(k.results[content{filepath.Base(file), sum}])
		if i > 0 {
			maps.DeleteFunc(results, func(key string, _ bool) bool { return !common[key] })
		}

		if len(results) == 0 {
			return &FileError{file, errors.New("damaged, changed or exchanged since a run made it; " +
				"pipeline run --verify makes it again")}
		}

		common = results
	}

	return nil
}
