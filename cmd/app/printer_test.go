package app

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Control characters are escaped, also where a character comes in two parts.
func TestPrinter(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext, 20 µPa …\n":   "plain\ttext, 20 µPa …\n",
		"\x1b]0;owned\a\r\x1b[2K":   `\x1b]0;owned\x07\x0d\x1b[2K`,
		"\x7f\u009b31m\u202egnp.\n": `\u007f\u009b31m\u202egnp.` + "\n",
		"\xff\x9b\xc2":              `\xff\x9b`, // the last may be the first part of a character
		"\x1b[1mbold\x1b[0m":        `\x1b[1mbold\x1b[0m`,
	} {
		var whole, parts bytes.Buffer
		if n, err := (&printer{w: &whole}).Write([]byte(in)); n != len(in) || err != nil {
			t.Errorf("%q: %d, %v", in, n, err)
		}

		p := &printer{w: &parts}
		for i := range len(in) {
			fmt.Fprint(p, in[i:i+1])
		}

		if whole.String() != want || parts.String() != want {
			t.Errorf("%q: %q, by bytes %q, expected %q", in, whole.String(), parts.String(), want)
		}
	}
}

// No control character of a file's name, title or contents reaches the streams.
func TestTerminalEscapes(t *testing.T) {
	dir := t.TempDir()
	const evil = "a\x1b]0;owned\a\x1b[2J\u009b31m\rb"
	put := func(name, text string) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))

		return p
	}

	title := []byte("LIST\x00\x00\x00\x00INFOINAM")
	title = append(binary.LittleEndian.AppendUint32(title, uint32(len(evil))), evil...)
	title = append(title, make([]byte, len(evil)%2)...)
	binary.LittleEndian.PutUint32(title[4:], uint32(len(title)-8))
	wav := "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00" +
		string(title) + "data\x08\x00\x00\x00\x01\x00\x02\x00\x03\x00\x04\x00"
	b := []byte(wav)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	recording := put("title.wav", string(b))
	header := put("header.csv", "owned\u009b31m\u202e,b\n1,2\n3,4\n5,6\n")
	named := put(evil+".csv", "a,b\n1,2\n3,x\n5,6\n7,8\n")

	config := put("p.yaml", fmt.Sprintf("version: 1\nworkdir: runs\nexperiments:\n  %q: {ingest: {files: [%q]}}\n",
		evil, evil))
	for _, args := range [][]string{
		{"inspect", recording},
		{"inspect", "--json", recording},
		{"inspect", header},
		{"inspect", named},
		{"inspect", dir + "/" + evil},
		{"check", config},
		{"run", config},
		{evil},
		{"run", "--" + evil},
	} {
		var stdout, stderr bytes.Buffer
		run(args, &stdout, &stderr)

		text := stdout.String() + stderr.String()
		assert.False(t, strings.ContainsAny(text, "\x1b\a\r\u009b\u202e"), "%q: %q", args, text)
		assert.False(t, !strings.Contains(text, "owned") && args[1%len(args)] != recording,
			"%q names nothing of it: %q", args, text)
	}
}
