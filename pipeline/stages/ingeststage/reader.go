package ingeststage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"doubletake/ingest"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
)

// findReader finds the program that reads the files, if the configuration names
// one, and hashes it and the files its arguments name: they are part of the keys of
// the tasks that open a recording. The program is not started here.
func findReader(exp plan.Experiment, src *plan.Source) error {
	in := src.In.Reader
	if in == nil {
		return nil
	}

	program := in.Program[0]
	if strings.ContainsAny(program, `/\`) { // a path that is absolute is not looked up in PATH
		var err error
		if program, err = filepath.Abs(exp.File.Resolve(program)); err != nil {
			return fmt.Errorf("find program %s: %w", in.Program[0], err)
		}
	}

	found, err := exec.LookPath(program)
	if err != nil {
		return exp.Errorf("ingest.reader", "program %s: %v", in.Program[0], errors.Unwrap(err))
	}

	if found, err = filepath.Abs(found); err != nil {
		return fmt.Errorf("find program %s: %w", in.Program[0], err)
	}

	dir, err := filepath.Abs(exp.File.Dir)
	if err != nil {
		return fmt.Errorf("find folder of the configuration: %w", err)
	}

	src.Options.Program = &ingest.Program{
		Command: append([]string{found}, in.Program[1:]...), Dir: dir,
		Timeout: time.Duration(in.TimeoutS * float64(time.Second)),
	}

	src.Reader = []kv.Pair{{Key: "ingest.reader", Value: "[" + strings.Join(in.Program, ", ") + "]"}}
	if in.Version != "" {
		src.Reader = append(src.Reader, kv.Pair{Key: "ingest.reader.version", Value: in.Version})
	}

	for i, a := range in.Program {
		file := found
		if i > 0 {
			if file = exp.File.Resolve(a); strings.Contains(a, "{file}") || a == "" {
				continue
			}

			if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
				continue // not a file: an option
			}
		}

		sum, err := digest(file)
		if err != nil {
			return exp.Errorf("ingest.reader", "%v", err)
		}

		src.Reader = append(src.Reader, kv.Pair{Key: "ingest.reader: sha256 of " + a, Value: sum})
	}

	return nil
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash program: %w", err)
	}
	defer f.Close()

	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash program: %w", err)
	}

	return hex.EncodeToString(h.Sum(nil)), nil
}
