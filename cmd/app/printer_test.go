package app

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest/ingesttest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Control characters are escaped, whether the text is written at once or byte by byte.
func TestPrinter(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext, 20 µPa …\n":   "plain\ttext, 20 µPa …\n",
		"\x1b]0;owned\a\r\x1b[2K":   `\x1b]0;owned\x07\x0d\x1b[2K`,
		"\x7f\u009b31m\u202egnp.\n": `\u007f\u009b31m\u202egnp.` + "\n",
		"\xff\x9b\xc2":              `\xff\x9b`, // the last may be the first part of a character
		"\x1b[1mbold\x1b[0m":        `\x1b[1mbold\x1b[0m`,
	} {
		var atOnce, byByte bytes.Buffer
		n, err := (&printer{w: &atOnce}).Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n, "%q: bytes written", text)
		assert.Equal(t, want, atOnce.String(), "%q at once", text)

		p := &printer{w: &byByte}
		for i := range len(text) {
			fmt.Fprint(p, text[i:i+1])
		}

		assert.Equal(t, want, byByte.String(), "%q byte by byte", text)
	}
}

// titledWAV returns four samples at 8 kHz with a title in a LIST chunk.
func titledWAV(title string) string {
	chunk := []byte("LIST\x00\x00\x00\x00INFOINAM")
	chunk = append(binary.LittleEndian.AppendUint32(chunk, uint32(len(title))), title...)
	chunk = append(chunk, make([]byte, len(title)%2)...) // chunks have an even number of bytes
	binary.LittleEndian.PutUint32(chunk[4:], uint32(len(chunk)-8))

	file := ingesttest.PCM16(1, 1, 2, 3, 4)
	file.Rate = 8000
	file.Before = chunk

	return string(file.Bytes())
}

// No control character of a file's name, title or contents reaches the terminal. What remains of a name is shown.
func TestTerminalEscapes(t *testing.T) {
	const evil = "a\x1b]0;owned\a\x1b[2J\u009b31m\rb"
	dir := t.TempDir()
	config := fmt.Sprintf("version: 1\nworkdir: runs\nexperiments:\n  %q: {ingest: {files: [%q]}}\n", evil, evil)
	put(t, dir, "p.yaml", config)
	put(t, dir, "title.wav", titledWAV(evil))
	put(t, dir, "header.csv", "owned\u009b31m\u202e,b\n1,2\n3,4\n5,6\n")
	put(t, dir, evil+".csv", "a,b\n1,2\n3,x\n5,6\n7,8\n")
	path := func(name string) string { return filepath.Join(dir, name) }

	for _, c := range []struct {
		args    []string
		isShown bool // titles of recordings are not shown
	}{
		{[]string{"inspect", path("title.wav")}, false},
		{[]string{"inspect", "--json", path("title.wav")}, false},
		{[]string{"inspect", path("header.csv")}, true},
		{[]string{"inspect", path(evil + ".csv")}, true},
		{[]string{"inspect", path(evil)}, true},
		{[]string{"check", path("p.yaml")}, true},
		{[]string{"run", path("p.yaml")}, true},
		{[]string{evil}, true},
		{[]string{"run", "--" + evil}, true},
	} {
		var stdout, stderr bytes.Buffer
		run(c.args, &stdout, &stderr)

		text := stdout.String() + stderr.String()
		assert.False(t, strings.ContainsAny(text, "\x1b\a\r\u009b\u202e"), "%q prints a control character: %q", c.args, text)

		if c.isShown {
			assert.Contains(t, text, "owned", "%q", c.args)
		}
	}
}

// fullDisk is a stream that takes nothing.
type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// A command that cannot print its results fails, even if it does not look at the errors of printing.
func TestResultsCannotBeWritten(t *testing.T) {
	var stderr strings.Builder
	assert.Equal(t, 1, run([]string{"version"}, fullDisk{}, &stderr))
	assert.Contains(t, stderr.String(), "write to standard output: no space left on device")
}
