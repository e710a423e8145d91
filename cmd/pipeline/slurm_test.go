package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"doubletake/pipeline/engine/slurm/slurmtest"
)

// drive makes every task of pipeline.yaml by pipeline exec, in the order in
// which pipeline tasks lists them, and wants that each was made.
func drive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: drive")
	}
	ts.Check(ts.Exec("pipeline", "tasks", "--format", "json"))
	var doc struct {
		Tasks []struct {
			Index int
			Needs []int
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	if len(doc.Tasks) < 8 {
		ts.Fatalf("%d tasks", len(doc.Tasks))
	}
	for _, t := range doc.Tasks {
		if slices.ContainsFunc(t.Needs, func(n int) bool { return n >= t.Index }) {
			ts.Fatalf("task %d needs later ones: %v", t.Index, t.Needs)
		}
		ts.Check(ts.Exec("pipeline", "exec", "--index", strconv.Itoa(t.Index)))
		if out := ts.ReadFile("stdout"); !strings.HasSuffix(out, ": made\n") {
			ts.Fatalf("task %d: %q", t.Index, out)
		}
	}
}

// clusterRun is a real project, small: sound is simulated, read, analysed,
// learned from and reported.
const clusterRun = `version: 1
workdir: WORK
executor:
  slurm: {mem: 300M, time: 10, stages: {train: {time: 20}}}
experiments:
  rotor:
    ingest:
      simulate: {campaign: rotor, seed: 3, duration_s: 1, blades: [2, 3, 4], rpm: [4000, 6000], theta_deg: [0, 40]}
    dsp: {triplets: split-half-spectrum, segments: 4}
    train:
      inputs: [blades, rpm, theta_deg]
      optimizer: {epochs: 30}
      seeds: 2
      splits:
        2-blades: {test: {blades: 2}}
`

// publishedBy reads everything a run published but what tells of the run itself:
// the lock, the cache, and the page, which says when and how fast it was made.
func publishedBy(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".cache" {
			return fs.SkipDir
		}
		if d.IsDir() || d.Name() == ".lock" || d.Name() == "report.html" {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err == nil {
			files[rel], err = os.ReadFile(p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The program itself on a real cluster: the same bytes as on this machine, the
// second run submits nothing, a killed driver's run is finished by the next.
// The project's folder and the work directory are named as nobody should.
func TestSlurmRun(t *testing.T) {
	if testing.Short() || os.Getenv("DOUBLETAKE_REQUIRE_SLURM") != "1" {
		t.Skip("a real cluster takes minutes: DOUBLETAKE_REQUIRE_SLURM=1")
	}
	c, why := slurmtest.Up()
	slurmtest.Required(t, c, why)
	defer c.Down()
	bin := filepath.Join(t.TempDir(), "pipeline")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir := filepath.Join(t.TempDir(), "o'neill $(touch evil) %j")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	config := func(name, work string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Replace(clusterRun, "WORK", strconv.Quote(work), 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		cmd := exec.Command(bin, append([]string{"run", "--progress", "plain"}, args...)...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("run %v: %v: %s", args, err, stderr.String())
		}
		return stderr.String()
	}
	config("here.yaml", "here")
	run("here.yaml")
	config("there.yaml", "the work\\dir")
	run("there.yaml", "--executor", "slurm")
	same := func(work string) {
		t.Helper()
		want, got := publishedBy(t, filepath.Join(dir, "here")), publishedBy(t, filepath.Join(dir, work))
		if len(want) < 20 || len(got) != len(want) {
			t.Errorf("%d files in %s, %d by a local run", len(got), work, len(want))
		}
		for name, b := range want {
			if !bytes.Equal(got[name], b) {
				t.Errorf("%s/%s differs from that of a local run", work, name)
			}
		}
	}
	same("the work\\dir")
	jobs := c.Jobs(t)
	if s := run("there.yaml", "--executor", "slurm"); !strings.Contains(s, "everything is up to date") || c.Jobs(t) != jobs {
		t.Errorf("the second run: %d more jobs, %s", c.Jobs(t)-jobs, s)
	}

	config("killed.yaml", "killed")
	cmd := exec.Command(bin, "run", "killed.yaml", "--executor", "slurm", "--progress", "none")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if done, _ := filepath.Glob(filepath.Join(dir, "killed", ".cache", "objects", "*", "*")); len(done) >= 8 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing comes about")
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	run("killed.yaml", "--executor", "slurm")
	same("killed")
	if list, _ := filepath.Glob(filepath.Join(dir, "*evil*")); len(list) > 0 {
		t.Errorf("a shell made %q", list)
	}
}
