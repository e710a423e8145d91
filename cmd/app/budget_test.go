package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/budget.md shows what the program prints of examples/turbine-forces (measured).
func TestBudgetPage(t *testing.T) {
	text := document(t, "docs/budget.md")
	root := t.TempDir()
	for _, name := range []string{"turbine-forces", "rm2-turbine"} {
		if err := os.CopyFS(filepath.Join(root, name), os.DirFS(filepath.Join(repository, "examples", name))); err != nil {
			t.Fatal(err)
		}
	}

	dir := filepath.Join(root, "turbine-forces")
	c := command(dir, "run", "pipeline.yaml", "--experiment", "raw", "--to", "dsp", "--progress", "none")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	out, err := command(dir, "budget", "raw", "--at", "tow_speed_m_s=0.8,tsr=3", "--outcome", "power_w",
		"--pool", "tow_speed_m_s").CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 12 {
		t.Fatalf("%v\n%s", err, out)
	}

	for l := range strings.Lines(string(out)) {
		if !strings.Contains(text, strings.TrimRight(l, " \n")+"\n") {
			t.Errorf("docs/budget.md has no line %q", l)
		}
	}

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"budget"}, "takes one EXPERIMENT or FILE.yaml"},
		{[]string{"budget", "runs/raw", "--level", "2"}, "--level wants a number"},
		{[]string{"budget", "runs/raw", "--pool", "speed"}, "--pool: runs/raw has no condition"},
		{[]string{"budget", "runs/none"}, "expected the triplets of an experiment"},
	} {
		if out, err := command(dir, c.args...).CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%q: %v, %s", c.args, err, out)
		}
	}
}
