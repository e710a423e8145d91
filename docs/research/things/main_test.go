package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

func TestRun(t *testing.T) {
	if err := run("runs", 1, 3, 9100, 1.2); err != nil {
		t.Fatal(err)
	}
}

// Expected: each reader of measured files returns an error that names a file if files are missing or empty.
func TestMissingFiles(t *testing.T) {
	for _, filesAreEmpty := range []bool{false, true} {
		folder := t.TempDir()
		t.Setenv("DOUBLETAKE_REAL", folder)
		t.Setenv("DOUBLETAKE_RDATASETS", folder)
		if filesAreEmpty {
			require.NoError(t, emptyFiles(folder))
		}

		for _, m := range measuredSets() {
			if m.name == "stand, propellers" {
				continue // an example of the repository
			}

			_, err := m.read()
			require.Error(t, err, m.name)
			assert.Contains(t, err.Error(), folder, m.name)
		}
	}
}

// emptyFiles writes empty files where the campaigns of measuredSets are expected.
func emptyFiles(folder string) error {
	files := []string{
		"princeton-mae224-lift-drag/Speed1/angle0.txt", "cyclone-ojf-force-balance/17_11_17__14_21.txt",
		"unh-rm2-turbine/Perf-0.4.csv", "unh-rm2-turbine/Perf-0.4-b.csv", "strawson-propeller-stand/rawdata/a1_7.csv",
		"strawson-propeller-stand/rawdata/a1_11.csv",
	}
	for _, d := range collected {
		files = append(files, d.path)
	}

	for _, name := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}

		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
	}

	return nil
}

// By hand: of the conditions 1 to 4 of each name, the second stays known.
func TestMostlyHeldOut(t *testing.T) {
	var r rows
	for _, x := range []float64{3, 1, 4, 2, 2} {
		for _, name := range []string{"a", "b"} {
			r.pair(name, name, []float64{x}, []float64{1}, []float64{2})
		}
	}

	list := mostlyHeldOut(r.campaign([]string{"x"}, []string{"y"}))
	require.Len(t, list, 2)
	assert.Equal(t, []int{0, 2, 4}, list[0].RowsOf(triplets.Test))
}
