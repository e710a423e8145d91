package analysis

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"doubletake/dsp/pairtable"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
)

// Joined contains the rows and notes of several files, and the paths of their spectra, which are too large to be in
// memory together.
type Joined struct {
	Triplets *table.Table
	Notes    []FileNotes

	first   string    // name of the first file with rows
	spectra []string  // paths of the files' tables of spectra
	digests hash.Hash // hash of the digests of these tables
}

// NewJoined returns a Joined without files.
func NewJoined() *Joined { return &Joined{Triplets: &table.Table{}, digests: sha256.New()} }

// AddTriplets adds the rows in a table at a path. file names the file that they come from, or the first of several. It
// returns an error if the file has other outcomes than the files before it.
func (j *Joined) AddTriplets(path, file string) error {
	part, err := table.Read(path)
	if err != nil {
		return err
	}

	if part.Rows() == 0 {
		return nil // all files of the part were skipped
	}

	if err := j.Triplets.Append(part); err != nil {
		return pairtable.Mismatch(j.first, file, err)
	}

	if j.first == "" {
		j.first = file
	}

	return nil
}

// AddSpectra adds a table of spectra at a path, which has a digest.
func (j *Joined) AddSpectra(path, digest string) {
	j.spectra = append(j.spectra, path)
	fmt.Fprintln(j.digests, digest)
}

// WriteSpectra joins the spectra of the files into one table at a path, batch by batch. It returns the digest of the
// table: the digest of the files' digests, which is known without reading the table again.
func (j *Joined) WriteSpectra(path string, meta []kv.Pair) (digest string, err error) {
	if _, err := table.Concat(path, meta, j.spectra); err != nil {
		return "", err
	}

	return hex.EncodeToString(j.digests.Sum(nil)), nil
}
