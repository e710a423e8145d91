package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"doubletake/internal/longtest"
)

// newTerminal returns the two ends of a new terminal of Linux: what a program writes to the terminal is read from the
// screen.
func newTerminal(t *testing.T) (terminal, screen *os.File) {
	t.Helper()

	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no new terminal: %v", err)
	}
	t.Cleanup(func() { screen.Close() })

	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0), "unlock the terminal")

	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err, "ask for the terminal's number")

	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { terminal.Close() })

	return terminal, screen
}

// Only a terminal gets colours, and not if the user refuses them (https://no-color.org) or the terminal has none.
func TestColourIsForTerminals(t *testing.T) {
	terminal, _ := newTerminal(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "output.txt"))
	require.NoError(t, err)
	defer file.Close()

	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	assert.True(t, colour(terminal), "a terminal")
	assert.True(t, colour(&printer{w: terminal}), "a terminal behind a printer")
	assert.False(t, colour(file), "a file")
	assert.False(t, colour(&strings.Builder{}), "a text in memory")

	t.Setenv("NO_COLOR", "1")
	assert.False(t, colour(terminal), "a terminal with NO_COLOR")

	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	assert.False(t, colour(terminal), "a terminal without colours")
}

// A command paints the grade of each outcome on a terminal, and writes the same text without colours to a pipe.
func TestGradesOnTerminal(t *testing.T) {
	longtest.Skip(t, "needs a finished run")

	dir, _ := undisturbedRun(t)
	t.Chdir(dir)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")

	terminal, screen := newTerminal(t)
	words := []string{"predict", "rotor/2-blades", "--at", "blades=3,rpm=4000,theta_deg=0"}
	require.Zero(t, run(words, terminal, io.Discard))

	shown := make([]byte, 1<<16)
	require.NoError(t, screen.SetReadDeadline(time.Now().Add(10*time.Second)))
	n, err := screen.Read(shown)
	require.NoError(t, err, "read the screen")

	var plain strings.Builder
	require.Zero(t, run(words, &plain, io.Discard))

	text := strings.ReplaceAll(string(shown[:n]), "\r\n", "\n")
	assert.Regexp(t, "\x1b\\[3[123]m(holds|undecided|fails)", text, "a grade in its colour")
	assert.NotContains(t, plain.String(), "\x1b", "a pipe")

	for _, style := range styles {
		text = strings.ReplaceAll(text, style, "")
	}
	assert.True(t, strings.HasPrefix(plain.String(), text), "the screen has another text than the pipe:\n%s", text)
}
