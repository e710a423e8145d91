// Package simulate writes simulated raw campaigns in real file formats: recordings of a
// rotor on a test bench, of a wind-tunnel balance, or of the paper's toy experiment.
// Every file name contains "simulated".
//
// The physics follows the project's Python reference: for rotors Gutin, Lowson and thickness
// noise, a broadband hump and rumble; for airfoils thin-airfoil lift blended into a stall,
// and resonances of the balance. Every run has random numbers of its own, derived from
// (seed, campaign, condition), so that any file can be written alone, in any order.
//
// A campaign is a plain struct: a [Rotor], an [Airfoil] or a [Toy]. Start from [DefaultRotor],
// [DefaultAirfoil] or [DefaultToy], as 0 is a setting of its own. [WriteDir] writes a whole
// campaign. [Campaign.Write] writes one file; its memory does not grow with the
// recording. [ToyMean] and [ToySigma] return the truth, with which estimates are compared.
//
// The program reads simulated files like measured ones: nothing here passes numbers
// to an analysis.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"doubletake/internal/parallel"
)

// Version is the version of the generator. Equal versions, seeds and settings give equal
// bytes on one processor architecture. Another one may fuse a multiplication and an
// addition, which changes the last bit.
const Version = "1"

// File is one file of a campaign.
type File struct {
	Name       string             // base name
	Conditions map[string]float64 // of the whole file: blades and rpm, or alpha_deg and u_inf_m_s; empty for the toy
	ThetaDeg   []float64          // rotor: polar angle of every channel in the file's order; otherwise nil
}

// Campaign is a set of raw files that can be written independently of each other.
// [Rotor], [Airfoil] and [Toy] implement it.
type Campaign interface {
	// Kind returns "rotor", "airfoil" or "toy".
	Kind() string
	// Files lists the files in a fixed order, without writing them.
	Files() []File
	// Write writes file i of Files to w, block by block. The bytes depend only on the
	// campaign and i. It returns an error if there is no file i, and the error of ctx
	// when ctx ends.
	Write(ctx context.Context, w io.Writer, i int) error
	// Conditions returns the content of conditions.csv: a header line, then one row
	// per recording. It returns "" for the toy, whose table contains its conditions.
	Conditions() string
	// Validate returns the joined *FieldErrors of all unusable fields, or nil if there
	// are none.
	Validate() error
	// Readme describes the campaign for people: that it is simulated, by which
	// version and seed, with which units and calibration.
	Readme() string
}

// Keys returns the keys of the configuration for the fields of a campaign, by the fields' names in Go.
func Keys(c Campaign) map[string]string {
	keys := map[string]string{}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(c)) {
		if key := field.Tag.Get("key"); key != "" {
			keys[field.Name] = key
		}
	}

	return keys
}

// FieldError is the error of a field of a campaign that is outside its limits.
type FieldError struct {
	Kind  string // of the campaign
	Field string // the field's name in Go
	Place string // index of an element if the field is a list: "[1]"; otherwise ""
	Text  string // "expected …, found …"
}

func (e *FieldError) Error() string { return e.Kind + ": " + e.Field + e.Place + ": " + e.Text }

// faults collects the errors of the fields of a campaign.
type faults struct {
	kind string
	list []error
}

// need adds an error about a field if ok is false. want describes the allowed values.
func (f *faults) need(ok bool, field, want string, found any) {
	if !ok {
		f.add(field, "", want, found)
	}
}

// add adds an error about a field, or about the element of it at place.
func (f *faults) add(field, place, want string, found any) {
	f.list = append(f.list, &FieldError{
		Kind: f.kind, Field: field, Place: place, Text: fmt.Sprintf("expected %s, found %v", want, found),
	})
}

// checkList adds an error for each value of a list for which good returns false, and for each value that occurs
// twice. noun is the name of a value, and want describes the good values.
func checkList[T comparable](f *faults, field string, list []T, noun, want string, good func(T) bool) {
	for i, v := range list {
		place := fmt.Sprintf("[%d]", i)
		if !good(v) {
			f.add(field, place, want, v)
		}

		if slices.Contains(list[:i], v) {
			f.add(field, place, "every "+noun+" once", v)
		}
	}
}

// New returns a [Rotor], an [Airfoil] or a [Toy] with its default values.
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
// campaign has none) and README.txt into dir. It creates dir if it is missing.
// Each file appears complete or not at all (temporary name, fsync, rename) and
// replaces a file of the same name. The bytes are the same for any number of
// workers; workers < 1 means one per processor.
//
// If progress is not nil, WriteDir calls it after every campaign file, one call at
// a time, with done rising from 1 to total. After an error, or when ctx ends, the
// finished files stay.
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

	var mu sync.Mutex
	done := 0
	parallel.Do(workers, len(files), func(i int) {
		if ctx.Err() != nil {
			return
		}

		if err := writeFile(dir, files[i].Name, func(w io.Writer) error { return c.Write(ctx, w, i) }); err != nil {
			cancel(err) // ends the other workers; WriteDir returns the first error
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

	if err := writeText(dir, "conditions.csv", c.Conditions()); err != nil {
		return err
	}

	return writeText(dir, "README.txt", c.Readme())
}

// writeText writes a text file. It writes no file if the text is empty.
func writeText(dir, name, text string) error {
	if text == "" {
		return nil
	}

	return writeFile(dir, name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// writeFile fills a temporary file in a folder, syncs it and renames it. After an error it removes the temporary file.
func writeFile(dir, name string, fill func(io.Writer) error) error {
	f, err := os.CreateTemp(dir, "."+name+".tmp*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}

	if err := finish(f, fill, filepath.Join(dir, name)); err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", name, err)
	}

	return nil
}

// finish fills a temporary file, syncs it, closes it and renames it to path. It closes the file after an error, too.
func finish(f *os.File, fill func(io.Writer) error, path string) error {
	if err := fillAndSync(f, fill); err != nil {
		return errors.Join(err, f.Close())
	}

	if err := f.Close(); err != nil {
		return err
	}

	return os.Rename(f.Name(), path)
}

// fillAndSync fills a file and syncs it.
func fillAndSync(f *os.File, fill func(io.Writer) error) error {
	if err := fill(f); err != nil {
		return err
	}

	// CreateTemp creates private files. Others may read a campaign.
	if err := f.Chmod(0o644); err != nil {
		return err
	}

	return f.Sync()
}

// checkFile returns an error if a campaign of that many files has no file i.
func checkFile(kind string, i, files int) error {
	if i < 0 || i >= files {
		return fmt.Errorf("%s: expected a file from 0 to %d, found %d", kind, files-1, i)
	}

	return nil
}

// steps returns lo, lo+step, … hi.
func steps(lo, hi, step float64) []float64 {
	values := make([]float64, int(math.Round((hi-lo)/step))+1)
	for i := range values {
		values[i] = lo + float64(i)*step
	}

	return values
}

// plain returns a number without exponent, with as many digits as needed. Adding 0 turns −0 into 0.
func plain(v float64) string { return strconv.FormatFloat(v+0, 'f', -1, 64) }

// joinPlain returns numbers as plain does, separated by commas.
func joinPlain(values []float64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = plain(v)
	}

	return strings.Join(texts, ",")
}
