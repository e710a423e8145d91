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
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
)

// findReader finds the program that reads the files, if the configuration names
// one, and hashes it and the files its arguments name: they are part of the keys of
// the tasks that open a recording. The program is not started here.
func findReader(exp plan.Experiment, src *plan.Source) {
	in := src.In.Reader
	if in == nil {
		return
	}

	program := in.Program[0]
	if strings.ContainsAny(program, `/\`) { // a path that is absolute is not looked up in PATH
		program = fault.Get(filepath.Abs(exp.File.Resolve(program)))
	}

	found, err := exec.LookPath(program)
	exp.Refuse(err != nil, "ingest.reader", "program %s: %v", in.Program[0], errors.Unwrap(err))

	found, dir := fault.Get(filepath.Abs(found)), fault.Get(filepath.Abs(exp.File.Dir))
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

			if _, err := fault.Regular(file); err != nil {
				continue // not a file: an option
			}
		}

		b, err := os.ReadFile(file)
		exp.Refuse(err != nil, "ingest.reader", "hash program: %v", err)

		sum := fmt.Sprintf("%x", sha256.Sum256(b))
		src.Reader = append(src.Reader, kv.Pair{Key: "ingest.reader: sha256 of " + a, Value: sum})
	}
}
