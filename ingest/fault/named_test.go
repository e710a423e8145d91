package fault_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest/fault"

	"github.com/stretchr/testify/assert"
)

// An error about the table of conditions names the recording too.
func ExampleNamed() {
	err := fault.At("log.csv", "line 3", "row0 below row1", "row0 9 and row1 3", "")
	fmt.Println(fault.Named(err, "raw/a.wav"))
	// Output: read raw/a.wav: log.csv: line 3: expected row0 below row1, found row0 9 and row1 3
}

// An error names the file as the user knows it.
func TestNamed(t *testing.T) {
	err := error(&fault.Error{Path: "data/a.wav", Found: "nothing"})
	if same := fault.Named(err, "data/a.wav"); same != err {
		t.Errorf("%v", same)
	}

	assert.NoError(t, fault.Named(nil, "a"), "an error of nothing")

	if err := fault.Named(filepath.ErrBadPattern, "b.wav"); !strings.HasPrefix(err.Error(), "read b.wav: ") {
		t.Errorf("%v", err)
	}
}
