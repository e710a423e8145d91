package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
)

// The example of docs/scale.md: Snakemake drives every task of a small project,
// two at a time; afterwards a run finds nothing to do.
func TestSnakemake(t *testing.T) {
	if os.Getenv("DOUBLETAKE_REQUIRE_SNAKEMAKE") == "" {
		longtest.Skip(t, "starts Snakemake")
	}

	if _, err := exec.LookPath("snakemake"); err != nil {
		require.Empty(t, os.Getenv("DOUBLETAKE_REQUIRE_SNAKEMAKE"), "snakemake is not installed: apt-get install snakemake")
		t.Skip("snakemake is not installed")
	}

	dir := t.TempDir()
	bin := filepath.Join(dir, "pipeline")
	if out, err := exec.Command("go", "build", "-o", bin, "../pipeline").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	snakefile, err := filepath.Abs("../../docs/Snakefile")
	require.NoError(t, err)

	yaml := "version: 1\nexperiments:\n  toy:\n    ingest: {simulate: {campaign: toy, triplets: 60, gamma: 1}}\n" +
		"    train: {inputs: [x], optimizer: {epochs: 2}, seeds: 2, splits: {out: {test: {x: {min: 3}}}}}\n"
	put(t, dir, "pipeline.yaml", yaml)

	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v: %v: %s", name, args, err, out)

		return string(out)
	}

	run("snakemake", "--snakefile", snakefile, "-j2", "--config", "pipeline="+bin)

	_, err = os.Stat(filepath.Join(dir, "runs", "toy", "report", "metrics.json"))
	require.NoError(t, err)

	// Another setting of the training: its tasks run again, the others do not.
	before := testfile.Read(t, filepath.Join(dir, "runs", "toy", "report", "metrics.json"))

	yaml = strings.Replace(yaml, "epochs: 2", "epochs: 3", 1)
	put(t, dir, "pipeline.yaml", yaml)

	out := run("snakemake", "--snakefile", snakefile, "-j2", "--config", "pipeline="+bin)
	require.False(t, strings.Contains(out, "output: done/0-"), "not only what depends on the setting ran again: %s", out)
	assert.Contains(t, out, "output: done/8-", "not only what depends on the setting ran again: %s", out)

	after, err := os.ReadFile(filepath.Join(dir, "runs", "toy", "report", "metrics.json"))
	require.NoError(t, err)
	assert.NotEqual(t, string(before), string(after), "the report is that of the setting before: %v", err)
	assert.Contains(t, run(bin, "run", "--progress", "plain"), "everything is up to date")
}
