package ingeststage

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/internal/kv"
	"doubletake/pipeline/stages/plan"
)

// findReader finds the program that reads the files, if the configuration names one. It hashes the program and the
// files that its arguments name, because the results depend on them: the hashes become part of the keys of the tasks
// that open a recording. It does not start the program.
func findReader(exp plan.Experiment, src *Source) error {
	const key = "ingest.reader"
	settings := src.Ingest.Reader
	if settings == nil {
		return nil
	}

	program, err := findProgram(exp, settings.Program[0])
	if err != nil {
		return err
	}

	dir, err := filepath.Abs(exp.File.Dir)
	if err != nil {
		return err
	}

	src.Options.Program = &ingest.Program{
		Command: append([]string{program}, settings.Program[1:]...), Dir: dir,
		Timeout: time.Duration(settings.TimeoutS * float64(time.Second)),
	}

	src.Reader = []kv.Pair{{Key: key, Value: "[" + strings.Join(settings.Program, ", ") + "]"}}
	if settings.Version != "" {
		src.Reader = append(src.Reader, kv.Pair{Key: "ingest.reader.version", Value: settings.Version})
	}

	for i, argument := range settings.Program {
		file := program
		if i > 0 {
			file = exp.File.Resolve(argument)
			if _, err := fault.Regular(file); err != nil {
				continue // an option, or the recording's name
			}
		}

		b, err := os.ReadFile(file)
		if err != nil {
			return exp.Errorf(key, "hash program: %v", err)
		}

		sum := fmt.Sprintf("%x", sha256.Sum256(b))
		src.Reader = append(src.Reader, kv.Pair{Key: "ingest.reader: sha256 of " + argument, Value: sum})
	}

	return nil
}

// findProgram returns the absolute path of a program. A name without folders is looked up in PATH.
func findProgram(exp plan.Experiment, name string) (string, error) {
	path := name
	if strings.ContainsAny(name, `/\`) { // a path that is absolute is not looked up in PATH
		absolute, err := filepath.Abs(exp.File.Resolve(name))
		if err != nil {
			return "", err
		}

		path = absolute
	}

	found, err := exec.LookPath(path)
	if err != nil {
		return "", exp.Errorf("ingest.reader", "program %s: %v", name, errors.Unwrap(err))
	}

	return filepath.Abs(found)
}
