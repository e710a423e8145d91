package recording

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest"
)

// Files of loggers without a header. Expected: one warning, of the first file whose columns have no names and are not
// as many as those of the first such file. By hand: if one kind of file alone has a clock, its column 3 is
// column 2 of the other.
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
		want  []string // the files of the warnings
	}{
		{"alike", []*File{file("a", "1", "2"), file("b", "1", "2")}, nil},
		{"one has a clock", []*File{file("a", "1", "2", "3"), file("b", "1", "2")}, []string{"b"}},
		{"later ones", []*File{file("a", "1"), file("c", "1"), file("b", "1", "2")}, []string{"b"}},
		{"named", []*File{file("a", "t", "F"), file("b", "F")}, nil},
		{"named and not", []*File{file("a", "t", "F"), file("b", "1")}, nil},
		{
			"several",
			[]*File{file("a", "1"), file("b", "1", "2"), file("c", "1"), file("d", "1", "2", "3")},
			[]string{"b"},
		},
		{"one file", []*File{file("a", "1", "2")}, nil},
	} {
		var warned []string
		for _, warning := range WarnNumberedColumns(c.files) {
			assert.Equal(t, "numbered-columns", warning.Code, c.name)
			warned = append(warned, warning.Path)
		}

		assert.Equal(t, c.want, warned, c.name)
	}
}
