// Package simulate writes raw campaigns in real file formats: recordings of a
// rotor on a test bench, of a wind-tunnel balance, or of the paper's toy experiment.
// All of it is simulated, and marked so in every file name.
//
// Physics after the project's Python reference (Gutin, Lowson and thickness
// noise, broadband hump and rumble; thin-airfoil lift with a stall blend and
// balance resonances); every run draws from its own generator derived from
// (seed, campaign, condition), so any file can be made alone, in any order.
//
// A campaign is a plain struct ([Rotor], [Airfoil], [Toy]) whose zero fields
// mean their defaults; WithDefaults returns the copy in which they are filled
// in, for whoever records the configuration. [WriteDir] writes a whole
// campaign; [Campaign.Write] streams one file of it in memory that does not
// grow with the recording.
//
// What the simulation puts into the data can be asked for without making it:
// [Rotor.Orders], [Rotor.TonePower], [Rotor.NoiseDensity], [AirfoilMean],
// [ToyMean] and [ToySigma] are the truth an estimate is compared with.
//
// Simulated files are read back like measured ones: nothing here passes numbers
// to an analysis.
package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
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
	Bytes      int64     // size where it is known before writing (rotor), else 0
}

// Campaign is a set of raw files that can be made independently of each other.
// [Rotor], [Airfoil] and [Toy] implement it; unset fields count as their
// defaults in every method.
type Campaign interface {
	// Kind is "rotor", "airfoil" or "toy".
	Kind() string
	// Files lists the files in a fixed order, without making them.
	Files() []File
	// Write makes file i of Files and writes it to w, block by block. It
	// panics if there is no file i. The bytes depend on the campaign and i
	// alone. It stops with ctx's error when ctx ends.
	Write(ctx context.Context, w io.Writer, i int) error
	// Conditions writes the campaign's conditions.csv: a header line, then one
	// row per recording. The toy has none (its table holds its conditions) and
	// writes nothing.
	Conditions(w io.Writer) error
	// Validate returns a *FieldError for every unusable field, joined; nil when
	// the campaign can be made.
	Validate() error
	// Readme describes the campaign for people: that it is simulated, by which
	// version and seed, units, calibration.
	Readme() string
}

// FieldError reports a field of a campaign that is out of its limits.
type FieldError struct {
	Kind  string // of the campaign
	Field string // its name in Go; of an element of a list with its index: "RPM[1]"
	Text  string // "expected …, found …"
}

func (e *FieldError) Error() string { return e.Kind + ": " + e.Field + ": " + e.Text }

// Kinds are the names New knows, in order.
func Kinds() []string { return []string{"rotor", "airfoil", "toy"} }

// New returns the named campaign with its defaults filled in: a [Rotor],
// [Airfoil] or [Toy] value.
func New(kind string) (Campaign, error) {
	switch kind {
	case "rotor":
		return Rotor{}.WithDefaults(), nil
	case "airfoil":
		return Airfoil{}.WithDefaults(), nil
	case "toy":
		return Toy{}.WithDefaults(), nil
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
	workers = min(workers, len(files))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var (
		mu   sync.Mutex
		next int
		done int
		errs = make([]error, len(files))
		wg   sync.WaitGroup
	)
	for range workers {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(files) || ctx.Err() != nil {
					return
				}
				err := writeFile(filepath.Join(dir, files[i].Name), func(w io.Writer) error {
					return c.Write(ctx, w, i)
				})
				mu.Lock()
				if err != nil {
					errs[i] = fmt.Errorf("write %s: %w", files[i].Name, err)
					cancel()
				} else {
					done++
					if progress != nil {
						progress(done, len(files))
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := firstCause(errs); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}

	var b bytes.Buffer
	if err := c.Conditions(&b); err != nil {
		return fmt.Errorf("write conditions.csv: %w", err)
	}
	if b.Len() > 0 {
		if err := writeBytes(filepath.Join(dir, "conditions.csv"), b.Bytes()); err != nil {
			return fmt.Errorf("write conditions.csv: %w", err)
		}
	}
	if err := writeBytes(filepath.Join(dir, "README.txt"), []byte(c.Readme())); err != nil {
		return fmt.Errorf("write README.txt: %w", err)
	}
	return syncDir(dir)
}

// firstCause returns the first error that is not merely the cancellation which
// another worker's error brought about; failing that, the first error.
func firstCause(errs []error) error {
	var first error
	for _, err := range errs {
		if err == nil {
			continue
		}
		if !errors.Is(err, context.Canceled) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func writeBytes(path string, b []byte) error {
	return writeFile(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// writeFile fills a temporary file in path's folder, syncs it and renames it to
// path; on any error nothing of it remains.
func writeFile(path string, fill func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp*")
	if err != nil {
		return fmt.Errorf("create temporary file: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	// CreateTemp makes private files; a campaign is meant to be read.
	if err := f.Chmod(0o644); err != nil {
		return fmt.Errorf("set mode: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
