package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"doubletake/internal/longtest"
	"doubletake/report"
)

// configurations are the default configuration, the examples and the configurations of testdata/pins. make returns a
// new folder with the configuration and its data.
var configurations = []struct {
	name string
	make func(t testing.TB) (dir string)
}{
	{"default", func(t testing.TB) string { return configured(t, filepath.Join("..", "pipeline.yaml")) }},
	{"methods", func(t testing.TB) string { return configured(t, "testdata/pins/methods.yaml") }},
	{"constructions", func(t testing.TB) string { return configured(t, "testdata/pins/constructions.yaml") }},
	{"tunnel-acquisition", func(t testing.TB) string {
		return example(t, "tunnel-acquisition", absolute(t, filepath.Join("testdata", "tunnel")))
	}},
	{"princeton-balance", measuredExample("princeton-balance", "princeton-mae224-lift-drag")},
	{"lcav-propeller", measuredExample("lcav-propeller", "lcav-crazyflie-propeller", "propellers")},
	{"lcav-microphones", measuredExample("lcav-microphones", "lcav-crazyflie-propeller", "propellers_only_4mics")},
	{"cyclone-balance", measuredExample("cyclone-balance", "cyclone-ojf-force-balance")},
	{"crisscl-motor", measuredExample("crisscl-motor", "crisscl-motor-9450-propeller")},
}

// measuredExample returns a function that makes the folder of an example of measured data.
func measuredExample(name string, data ...string) func(t testing.TB) string {
	return func(t testing.TB) string { return example(t, name, measuredData(t, data...)) }
}

// finishedRun is a configuration that ran: its folder and its reports by experiment.
type finishedRun struct {
	dir     string
	reports map[string]report.Experiment
}

// finished contains the configurations that ran, by name.
var finished = map[string]finishedRun{}

// finishedIn returns the folder of one of the configurations after a whole run, and its reports. All tests share one
// run of each configuration, so that none may change anything in the folder.
func finishedIn(t testing.TB, name string) (dir string, reports map[string]report.Experiment) {
	t.Helper()
	longtest.Skip(t, "runs "+name)

	if run, ok := finished[name]; ok {
		return run.dir, run.reports
	}

	for _, c := range configurations {
		if c.name == name {
			dir := c.make(lastingTest{t})
			run := finishedRun{dir, runIn(t, dir)}
			finished[name] = run

			return run.dir, run.reports
		}
	}

	t.Fatalf("no configuration is called %s", name)

	return "", nil
}

// lastingTest is a test whose folders last until all tests of the package have ended.
type lastingTest struct{ testing.TB }

// lastingFolders is the folder that contains the folders of lastingTest.
var lastingFolders string

// TempDir returns a new folder that lasts until all tests of the package have ended.
func (t lastingTest) TempDir() string {
	dir, err := os.MkdirTemp(lastingFolders, "")
	if err != nil {
		t.Fatal(err)
	}

	return dir
}

// TestMain removes the lasting folders after all tests.
func TestMain(m *testing.M) {
	var err error
	lastingFolders, err = os.MkdirTemp("", "pipeline")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	status := m.Run()
	os.RemoveAll(lastingFolders)
	os.Exit(status)
}
