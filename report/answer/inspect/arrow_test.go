package inspect_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"doubletake/report/answer/inspect"
)

// Damaged in any byte, of its schema and footer as of its batches, or cut
// anywhere, a table is shown or refused with its name; it never panics. Of one in
// four the damage is in the footer, which the reader starts from.
func TestDamagedArrow(t *testing.T) {
	b := testfile.Read(t, "../../../ingest/format/arrow/testdata/recording.arrow")

	path := filepath.Join(t.TempDir(), "damaged.arrow")
	try := func(b []byte) {
		require.NoError(t, os.WriteFile(path, b, 0o644))

		_, err := inspect.File(context.Background(), path, ingest.Options{})
		if err != nil {
			assert.Contains(t, err.Error(), path)
		}
	}

	footer := len(b) - 10 - int(binary.LittleEndian.Uint32(b[len(b)-10:]))

	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 800 {
		d := slices.Clone(b)
		from := 0
		if i%4 == 0 {
			from = footer
		}

		for range 1 + i%3 {
			at := from + rng.IntN(len(b)-from)
			if i%8 < 4 {
				d[at] ^= byte(1 << rng.IntN(8))
			} else {
				d[at] = byte(rng.IntN(256))
			}
		}

		try(d)
	}

	for n := 8; n < len(b); n += 29 {
		try(b[:n])
	}
}

// FuzzArrow describes any bytes in a file with the ending of Arrow, without a panic, without endless work and in
// bounded memory. The first part of the bound is 24 times what the Arrow reader may allocate to refuse a file (16 MiB
// and 512 times the file, see refused in its tests), because a table of bits becomes bytes in a slice that grows. The
// second part is 24 times 18 MiB for each compressed buffer. A file has at most one buffer in 24 bytes: 16 bytes state
// where the buffer lies, and 8 state its length. That is 18 MiB for each byte of the file.
func FuzzArrow(f *testing.F) {
	seeds, err := filepath.Glob("../../../ingest/format/arrow/testdata/polars/*.arrow")
	require.NoError(f, err)

	for _, p := range append(seeds, "../../../ingest/format/arrow/testdata/recording.arrow") {
		b := testfile.Read(f, p)

		f.Add(b)
	}

	path := filepath.Join(f.TempDir(), "fuzz.arrow")
	f.Fuzz(func(t *testing.T, b []byte) {
		require.NoError(t, os.WriteFile(path, b, 0o644))

		ingesttest.Bounded(t, b, 24*16<<20, 24*512+24*18<<20/24, func() {
			_, err := inspect.File(context.Background(), path, ingest.Options{})
			if err != nil {
				assert.Contains(t, err.Error(), path)
			}
		})
	})
}
