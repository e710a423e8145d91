package format

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/parallel"
)

// A decoder that fails returns the same error to its caller, to one of two workers and to a goroutine: no panic leaves
// its package.
func TestConcurrentErrors(t *testing.T) {
	for _, f := range All() {
		b, err := os.ReadFile(samples[f.Name])
		require.NoError(t, err)

		t.Run(f.Name+"/open", func(t *testing.T) {
			damaged := shorten(t, f, b)
			wantEverywhere(t, func() error {
				_, err := f.Open(ingesttest.Source(damaged), ingest.Options{})
				return err
			})
		})

		if slices.Contains(inMemory, f.Name) {
			continue
		}

		t.Run(f.Name+"/read", func(t *testing.T) {
			wantEverywhere(t, func() error { return readBroken(f, b) })
		})
	}
}

// inMemory has the formats whose readers keep a file as small as the sample in memory, so that reading it cannot fail.
var inMemory = []string{"mat", "npz", "text", "uff"}

// wantEverywhere calls do directly, in two workers and in a goroutine, and checks that each returns the same
// *fault.Error.
func wantEverywhere(t *testing.T, do func() error) {
	t.Helper()

	want := do()
	require.Error(t, want)
	require.ErrorAs(t, want, new(*fault.Error))
	require.NotEmpty(t, want.Error())

	var calls atomic.Int64
	err := parallel.Try(2, 8, func(int) error {
		calls.Add(1)
		return do()
	})
	require.EqualError(t, err, want.Error(), "two workers")
	require.Positive(t, calls.Load())

	result := make(chan error)
	go func() { result <- do() }()
	require.EqualError(t, <-result, want.Error(), "a goroutine")
}

// shorten returns the longest beginning of at most half the file that cannot be opened.
func shorten(t *testing.T, f ingest.Format, b []byte) []byte {
	t.Helper()

	for n := len(b) / 2; n > 0; n-- {
		r, err := f.Open(ingesttest.Source(b[:n]), ingest.Options{})
		if err != nil {
			return b[:n]
		}

		require.NoError(t, r.Close())
	}

	t.Fatal("every beginning of the file can be opened")

	return nil
}

var errBroken = errors.New("the disk is broken")

// breaking is a file that fails to be read as soon as it is broken.
type breaking struct {
	io.ReaderAt
	broken bool
}

func (f *breaking) ReadAt(b []byte, offset int64) (int, error) {
	if f.broken {
		return 0, errBroken
	}

	return f.ReaderAt.ReadAt(b, offset)
}

// readBroken opens a file, breaks it and reads all of it. It returns the first error.
func readBroken(f ingest.Format, b []byte) error {
	file := &breaking{ReaderAt: bytes.NewReader(b)}

	r, err := f.Open(ingest.Source{Path: "broken", ReaderAt: file, Size: int64(len(b))}, ingest.Options{})
	if err != nil {
		return err
	}
	defer r.Close()

	file.broken = true
	for i, c := range r.Info().Channels {
		_, err := r.Read([]int{i}, 0, [][]float64{make([]float64, c.Samples)})
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}

	return nil
}
