package pipeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
)

// measuredData returns the path of measured data, which are not in the repository. If they are not on this machine,
// measuredData skips the test.
func measuredData(t testing.TB, parts ...string) string {
	t.Helper()
	return outsideData(t, "DOUBLETAKE_REAL", "real", "measured data", parts...)
}

// referenceData returns the path of data of the Python reference, which are not in the repository. If they are not on
// this machine, referenceData skips the test.
func referenceData(t testing.TB, parts ...string) string {
	t.Helper()
	return outsideData(t, "DOUBLETAKE_REFERENCE", "reference", "reference data", parts...)
}

// outsideData returns the path of data outside the repository. They are below the folder that the environment variable
// names, or else below folder beside the repository. kind says in the message of a skipped test what is missing.
func outsideData(t testing.TB, variable, folder, kind string, parts ...string) string {
	t.Helper()

	root := os.Getenv(variable)
	if root == "" {
		root = filepath.Join("..", "..", "shared", folder)
	}

	path, err := filepath.Abs(filepath.Join(append([]string{root}, parts...)...))
	require.NoError(t, err)

	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s %s is not here (%s names the folder)", kind, filepath.Join(parts...), variable)
	}

	return path
}

// configured returns a new folder with a copy of a configuration.
func configured(t testing.TB, path string) string {
	t.Helper()

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", string(testfile.Read(t, path)))

	return dir
}

// example returns a new folder with a copy of an example's files and a link `data` to the measurements, as
// examples/README.md asks of its reader.
func example(t testing.TB, name, data string) string {
	t.Helper()

	source := filepath.Join("..", "examples", name)
	dir := configured(t, filepath.Join(source, "pipeline.yaml"))

	conditions, err := os.ReadFile(filepath.Join(source, "conditions.csv"))
	if !errors.Is(err, os.ErrNotExist) { // some examples read their conditions from the files' names
		require.NoError(t, err)
		write(t, dir, "conditions.csv", string(conditions))
	}

	if err := os.Symlink(data, filepath.Join(dir, "data")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}

	return dir
}

// shipped returns a new folder with a copy of an example that comes with its data, which are the given files.
func shipped(t testing.TB, name string, files ...string) string {
	t.Helper()

	source := filepath.Join("..", "examples", name)
	dir := configured(t, filepath.Join(source, "pipeline.yaml"))
	for _, file := range files {
		write(t, dir, file, string(testfile.Read(t, filepath.Join(source, file))))
	}

	return dir
}

// absolute returns the absolute path.
func absolute(t testing.TB, path string) string {
	t.Helper()

	abs, err := filepath.Abs(path)
	require.NoError(t, err)

	return abs
}
