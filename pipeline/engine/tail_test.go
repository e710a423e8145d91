package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tail returns the last lines of a log. If the log ends with a panic, it returns the
// lines from the panic on, because only stacks follow.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")

	stack := strings.Repeat("goroutine 1 [running]:\n", 30)
	for in, want := range map[string]string{
		"":                                   "",
		"a\nb\n":                             "a\nb",
		"a\nb\nc\nd":                         "b\nc\nd",
		"a\npanic: no\n\n" + stack:           "panic: no\n\ngoroutine 1 [running]:",
		"panic: 1\nfatal error: 2\n" + stack: "fatal error: 2\ngoroutine 1 [running]:\ngoroutine 1 [running]:",
		"x\xff":                              "x?",
	} {
		require.NoError(t, os.WriteFile(path, []byte(in), 0o644))
		assert.Equal(t, want, Tail(path, 3), "%q", in)
	}

	assert.Empty(t, Tail(path+"none", 3), "no such file")
}
