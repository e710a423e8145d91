// Package simulate writes raw campaigns in real file formats: recordings of a
// rotor on a test bench, of a wind-tunnel balance, or of the paper's toy experiment.
// All of it is simulated, and marked so in every file name.
//
// Physics after the project's Python reference (Gutin, Lowson and thickness
// noise, broadband hump and rumble; thin-airfoil lift with a stall blend and
// balance resonances); every run draws from its own generator derived from
// (seed, campaign, condition), so any file can be made alone, in any order.
//
// A campaign is a plain struct ([Rotor], [Airfoil], [Toy]) that starts from
// [DefaultRotor], [DefaultAirfoil] or [DefaultToy]; zero is a value. [WriteDir] writes a whole
// campaign; [Campaign.Write] streams one file of it in memory that does not
// grow with the recording.
//
// [ToyMean] and [ToySigma] are the truth an estimate is compared with.
//
// Simulated files are read back like measured ones: nothing here passes numbers
// to an analysis.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"doubletake/internal/parallel"
)

// Version names the generator. Equal versions, seeds and settings give equal
// bytes (on one processor architecture: others may fuse a multiplication and
// an addition, which moves the last bit).
const Version = "1"

// File is one file of a campaign.
type File struct {
	Name string // base name; contains "simulated"
	// what all of the file shares: blades and rpm; alpha_deg and u_inf_m_s; empty for the
	// toy
	Conditions map[string]float64
	ThetaDeg   []float64 // rotor: polar angle of every channel, in the file's order; else nil
}

// Campaign is a set of raw files that can be made independently of each other.
// [Rotor], [Airfoil] and [Toy] implement it.
type Campaign interface {
	// Kind is "rotor", "airfoil" or "toy".
	Kind() string
	// Files lists the files in a fixed order, without making them.
	Files() []File
	// Write makes file i of Files and writes it to w, block by block. It
	// panics if there is no file i. The bytes depend on the campaign and i
	// alone. It stops with ctx's error when ctx ends.
	Write(ctx context.Context, w io.Writer, i int) error
	// Conditions is the campaign's conditions.csv: a header line, then one row
	// per recording. The toy has none (its table holds its conditions): "".
	Conditions() string
	// Validate returns a *FieldError for every unusable field, joined; nil when
	// the campaign can be made.
	Validate() error
	// Readme describes the campaign for people: that it is simulated, by which
	// version and seed, units, calibration.
	Readme() string
}

// Keys are the configuration's names of a campaign's fields, by their names in Go.
func Keys(c Campaign) map[string]string {
	out := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(c)) {
		if key := f.Tag.Get("key"); key != "" {
			out[f.Name] = key
		}
	}

	return out
}

// FieldError reports a field of a campaign that is out of its limits.
type FieldError struct {
	Kind  string // of the campaign
	Field string // its name in Go
	Place string // of an element of a list its index: "[1]"
	Text  string // "expected …, found …"
}

func (e *FieldError) Error() string { return e.Kind + ": " + e.Field + e.Place + ": " + e.Text }

// faults gathers what is unusable in the fields of a campaign.
type faults struct {
	kind string
	list []error
}

// need reports a field that is not ok.
func (f *faults) need(ok bool, field, want string, found any) {
	if !ok {
		text := fmt.Sprintf("expected %s, found %v", want, found)
		f.list = append(f.list, &FieldError{Kind: f.kind, Field: field, Text: text})
	}
}

// checkList reports values of a list that are out of range or stand in it twice; what names one
// of them.
func checkList[T comparable](f *faults, field string, list []T, what, want string, good func(T) bool) {
	for i, v := range list {
		bad := func(want string) {
			f.list = append(f.list, &FieldError{
				f.kind, field, fmt.Sprintf("[%d]", i), fmt.Sprintf("expected %s, found %v", want, v),
			})
		}

		if !good(v) {
			bad(want)
		}

		if slices.Contains(list[:i], v) {
			bad("every " + what + " once")
		}
	}
}

// New returns the named campaign by default: a [Rotor], [Airfoil] or [Toy] value.
func New(kind string) (Campaign, error) {
	switch kind {
	case "rotor":
		return DefaultRotor(), nil
	case "airfoil":
		return DefaultAirfoil(), nil
	case "toy":
		return DefaultToy(), nil
	}

	return nil, fmt.Errorf("unknown campaign %q: expected rotor, airfoil or toy", kind)
}

// WriteDir validates c and writes its files, conditions.csv (unless the
// campaign has none) and README.txt into dir, which is made if it is missing.
// Each file appears complete or not at all (temporary name, fsync, rename) and
// replaces one of the same name. The bytes are the same for any number of
// workers; workers < 1 means one per processor. progress, if not nil, is
// called after every campaign file, one call at a time, done rising from 1 to
// total. After an error or the end of ctx the files already finished stay.
func WriteDir(ctx context.Context, c Campaign, dir string, workers int, progress func(done, total int)) error {
	if err := c.Validate(); err != nil {
		return err
	}

	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}

	files := c.Files()

	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var (
		mu   sync.Mutex
		done int
	)

	parallel.Do(workers, len(files), func(i int) {
		if ctx.Err() != nil {
			return
		}

		if err := writeFile(dir, files[i].Name, func(w io.Writer) error { return c.Write(ctx, w, i) }); err != nil {
			cancel(err) // the first counts
			return
		}

		mu.Lock()
		defer mu.Unlock()

		done++
		if progress != nil {
			progress(done, len(files))
		}
	})

	if err := context.Cause(ctx); err != nil {
		return err
	}

	var errs []error
	for name, text := range map[string]string{"conditions.csv": c.Conditions(), "README.txt": c.Readme()} {
		if text != "" {
			errs = append(errs, writeFile(dir, name, func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			}))
		}
	}

	return errors.Join(errs...)
}

// writeFile fills a temporary file in a folder, syncs it and renames it; on any error nothing of it remains.
func writeFile(dir, name string, fill func(io.Writer) error) error {
	f, err := os.CreateTemp(dir, "."+name+".tmp*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}

	err = fill(f)

	// CreateTemp makes private files; a campaign is meant to be read.
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}

	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", name, err)
	}

	return nil
}
