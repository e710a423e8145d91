package ingeststage

import (
	"fmt"
	"testing"

	"doubletake/ingest"

	"github.com/stretchr/testify/assert"
)

// Files of loggers without a header: only files without names that have another number of columns are named. By hand:
// with a clock in one kind of file alone, column 2 of the other is column 3 of this one.
func TestWarnNumberedColumns(t *testing.T) {
	file := func(path string, names ...string) *FileResult {
		result := &FileResult{Path: path, Info: ingest.Info{Format: "text"}}
		for _, name := range names {
			result.Info.Channels = append(result.Info.Channels, ingest.Channel{Name: name})
		}

		return result
	}

	for _, c := range []struct {
		name     string
		files    []*FileResult
		readable []int
		warns    bool
	}{
		{"alike", []*FileResult{file("a", "1", "2"), file("b", "1", "2")}, []int{0, 1}, false},
		{"one has a clock", []*FileResult{file("a", "1", "2", "3"), file("b", "1", "2")}, []int{0, 1}, true},
		{"later ones", []*FileResult{file("a", "1"), file("c", "1"), file("b", "1", "2")}, []int{0, 1, 2}, true},
		{"named", []*FileResult{file("a", "t", "F"), file("b", "F")}, []int{0, 1}, false},
		{"named and not", []*FileResult{file("a", "t", "F"), file("b", "1")}, []int{0, 1}, false},
		{"not read", []*FileResult{file("a", "1", "2"), file("b", "1")}, []int{0}, false},
	} {
		warnings := fmt.Sprint(warnNumberedColumns(c.files, c.readable))
		if c.warns {
			assert.Contains(t, warnings, "{b numbered-columns its ", c.name)
		} else {
			assert.Equal(t, "[]", warnings, c.name)
		}
	}
}
