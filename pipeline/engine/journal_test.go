package engine

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A journal renews the time of its file while nothing happens. It cuts a long text, here within the second "é" from the
// end of the bound, because "x" is one byte and "é" two.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	w := newJournal(dir, []Line{{Event: "run"}})
	w.add(Line{Event: "failed", Text: "x" + strings.Repeat("é", 1<<19)})

	hour := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(w.path, hour, hour))

	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		fi, err := os.Stat(w.path)
		require.NoError(t, err)
		require.True(t, time.Now().Before(end), "the line is written within a minute")

		if fi.ModTime().After(hour.Add(time.Minute)) && fi.Size() > journalText {
			break
		}
	}

	require.NoError(t, os.Chtimes(w.path, hour, hour))

	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		fi, err := os.Stat(w.path)
		require.NoError(t, err)
		require.True(t, time.Now().Before(end), "the time of the file changes within a minute")

		if fi.ModTime().After(hour.Add(time.Minute)) {
			break
		}
	}

	w.close(nil)

	b, err := os.ReadFile(w.path)
	require.NoError(t, err)

	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	require.Len(t, lines, 3, "run, failed and end")

	var failed Line
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &failed))
	assert.Equal(t, "x"+strings.Repeat("é", (journalText-1)/2)+" …", failed.Text)
}
