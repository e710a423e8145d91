package campaign

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Names of recordings as addRun makes them: the file, and "#" with the channel if a file has several. Names
// of files and of channels may contain "#" too.
func TestChannelOf(t *testing.T) {
	for _, c := range []struct{ run, recording, want string }{
		{"a.wav", "a.wav#left", "left"},
		{"a.wav", "a.wav", ""},
		{"take#3.wav", "take#3.wav", ""},
		{"take#3.wav", "take#3.wav#left", "left"},
		{"a.uff", "a.uff##1", "#1"},
		{"day 1", "a.wav#left", "left"}, // the name of the run comes from a column
		{"a", "ab#left", "left"},
		{"day 1", "a.wav", ""},
	} {
		assert.Equal(t, c.want, ChannelOf(c.run, c.recording), "recording %s of run %s", c.recording, c.run)
	}
}
