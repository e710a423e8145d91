package program

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
	"doubletake/ingest/setting"
)

// key is the key of the configuration that names the program.
const key = "reader"

// Find finds the program that a reader's settings name, without starting it. Results depend on the program, on its
// version and on the files among its arguments, so Find also returns these settings, with the SHA-256 of each file, for
// the keys of results. It returns a *setting.Error about a program that is not there.
func Find(reader *setting.Reader, project setting.Project) (*ingest.Program, []setting.NamedString, error) {
	program, err := findProgram(project, reader.Program[0])
	if err != nil {
		return nil, nil, err
	}

	dir, err := filepath.Abs(project.Dir)
	if err != nil {
		return nil, nil, err
	}

	found := &ingest.Program{
		Command: append([]string{program}, reader.Program[1:]...), Dir: dir,
		Timeout: time.Duration(reader.TimeoutS * float64(time.Second)),
	}

	settings := []setting.NamedString{{Name: key, Value: "[" + strings.Join(reader.Program, ", ") + "]"}}
	if reader.Version != "" {
		settings = append(settings, setting.NamedString{Name: key + ".version", Value: reader.Version})
	}

	for i, argument := range reader.Program {
		file := program
		if i > 0 {
			file = project.Resolve(argument)
			if _, err := fault.Regular(file); err != nil {
				continue // an option, or the recording's name
			}
		}

		b, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, setting.Errorf(key, "hash program: %v", err)
		}

		sum := fmt.Sprintf("%x", sha256.Sum256(b))
		settings = append(settings, setting.NamedString{Name: key + ": sha256 of " + argument, Value: sum})
	}

	return found, settings, nil
}

// findProgram returns the absolute path of a program. A name without folders is looked up in PATH.
func findProgram(project setting.Project, name string) (string, error) {
	path := name
	if strings.ContainsAny(name, `/\`) { // a path that is absolute is not looked up in PATH
		absolute, err := filepath.Abs(project.Resolve(name))
		if err != nil {
			return "", err
		}

		path = absolute
	}

	found, err := exec.LookPath(path)
	if err != nil {
		return "", setting.Errorf(key, "program %s: %v", name, errors.Unwrap(err))
	}

	return filepath.Abs(found)
}
