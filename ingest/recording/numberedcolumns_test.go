package recording

import (
	"fmt"
	"testing"

	"doubletake/ingest"

	"github.com/stretchr/testify/assert"
)

// Files of loggers without a header: only files without names that have another number of columns are named. By hand:
// with a clock in one kind of file alone, column 2 of the other is column 3 of this one.
func TestWarnNumberedColumns(t *testing.T) {
	file := func(path string, names ...string) *File {
		result := &File{Path: path, Info: ingest.Info{Format: "text"}}
		for _, name := range names {
			result.Info.Channels = append(result.Info.Channels, ingest.Channel{Name: name})
		}

		return result
	}

	for _, c := range []struct {
		name  string
		files []*File
		warns bool
	}{
		{"alike", []*File{file("a", "1", "2"), file("b", "1", "2")}, false},
		{"one has a clock", []*File{file("a", "1", "2", "3"), file("b", "1", "2")}, true},
		{"later ones", []*File{file("a", "1"), file("c", "1"), file("b", "1", "2")}, true},
		{"named", []*File{file("a", "t", "F"), file("b", "F")}, false},
		{"named and not", []*File{file("a", "t", "F"), file("b", "1")}, false},
		{"one file", []*File{file("a", "1", "2")}, false},
	} {
		warnings := fmt.Sprint(WarnNumberedColumns(c.files))
		if c.warns {
			assert.Contains(t, warnings, "{b numbered-columns its ", c.name)
		} else {
			assert.Equal(t, "[]", warnings, c.name)
		}
	}
}
