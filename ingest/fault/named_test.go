package fault_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"doubletake/ingest/fault"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An error about the table of conditions names the recording too.
func ExampleNamed() {
	err := fault.At("log.csv", "line 3", "row0 below row1", "row0 9 and row1 3", "")
	fmt.Println(fault.Named(err, "raw/a.wav"))
	// Output: read raw/a.wav: log.csv: line 3: expected row0 below row1, found row0 9 and row1 3
}

// Named does not change an error that names the file, nor nil. It puts the name of the file before any other error, and
// keeps its cause.
func TestNamed(t *testing.T) {
	err := error(&fault.Error{Path: "data/a.wav", Found: "nothing"})
	assert.Same(t, err, fault.Named(err, "data/a.wav"), "an error that names the file")

	require.NoError(t, fault.Named(nil, "a"), "no error")

	named := fault.Named(filepath.ErrBadPattern, "b.wav")
	require.EqualError(t, named, "read b.wav: syntax error in pattern")
	assert.ErrorIs(t, named, filepath.ErrBadPattern)
}
