package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
)

// messagesFile collects the messages of the program, so that a person can read them from top to bottom.
const messagesFile = "testdata/messages.txt"

// faultyCommands are command lines that a person may type by mistake, in the folder of a finished run of the
// experiment rotor. Each prints an error, and computes nothing.
var faultyCommands = []string{
	"rnu",
	"run pipeline.yml",
	"run --jobs many",
	"run --stage trian",
	"run --experiment rotro",
	"run --split 4-blades",
	"run --from report --to ingest",
	"run pipeline.yaml other.yaml",
	"run --verify --dry-run",
	"run --executor slrum",
	"report --held-out",
	"report --held-out rpm",
	"report --held-out rmp=3000",
	"report --held-out rpm=fast",
	"report --held-out blades=9",
	"check nowhere",
	"check --level 0.9",
	"status --stage",
	"predict",
	"predict nowhere --at blades=3",
	"predict rotor/4-blades --at blades=3",
	"predict rotor/2-blades",
	"predict rotor/2-blades --at blades=three,rpm=4000,theta_deg=0",
	"predict rotor/2-blades --at blades=3",
	"predict rotor/2-blades --at blade=3,rpm=4000,theta_deg=0",
	"predict rotor/2-blades --at blades=3,rpm=4000,theta_deg=0 --level 95",
	"predict rotor/2-blades --at blades=3,rpm=4000,theta_deg=0 --outcome bpf9_db",
	"predict rotor/2-blades --conditions nowhere.csv",
	"suggest rotor/2-blades --grid rpm=4000:2000:500",
	"suggest rotor/2-blades --grid speed=1:2:1",
	"suggest rotor/2-blades --batch many",
	"suggest rotor/2-blades --budget 3h",
	"judge",
	"judge nowhere.csv --against rotor",
	"judge pipeline.yaml --against rotor",
	"judge predictions.csv --against rotor --split 4-blades",
	"contrast rotor",
	"contrast rotor --a blades=2",
	"contrast rotor --a blades=2 --b blades=9",
	"contrast rotor --a blades=2 --b blades=2",
	"contrast rotor --a blades --b rpm",
	"budget rotor --at blades=9",
	"budget rotor --pool speed",
	"budget nowhere",
	"export rotor",
	"export rotor tables --format xls",
	"export rotor tables --format csv --tables spectrum",
	"plot rotor histogram",
	"plot rotor/2-blades honest-levels --width wide",
	"inspect nowhere.wav",
	"inspect pipeline.yaml",
	"log --diff 1 99",
	"log --config 99",
	"compare pipeline.yaml rotor",
	"glossary epistemology",
	"help epistemology",
	"simulate helicopter rig",
	"init nowhere",
	"serve nowhere",
	"honest library",
	"honest library nowhere",
	"tasks --format xml",
	"exec",
	"exec rotor/none",
	"gc nowhere",
	"completion tcsh",
}

// Every message that a faulty command prints, and every message of a faulty file or configuration, is in one file.
// With -update the test writes this file: read it from top to bottom. A message ends with what to do. The messages of
// files and configurations were written by hand into the scripts, and TestScripts compares the program with them.
func TestMessages(t *testing.T) {
	golden, err := filepath.Abs(messagesFile)
	require.NoError(t, err)

	var all bytes.Buffer
	fmt.Fprint(&all, "# Messages of faulty files and configurations\n")
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)

	for _, path := range scripts {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)

		for _, file := range archive.Files {
			if strings.HasPrefix(file.Name, "message") {
				name := strings.TrimSuffix(filepath.Base(path), ".txtar")
				fmt.Fprintf(&all, "\n## %s\n%s", strings.ReplaceAll(name, "_", " "), file.Data)
			}
		}
	}

	dir, _ := undisturbedRun(t)
	t.Chdir(dir)

	fmt.Fprint(&all, "\n# Messages of faulty commands\n")
	for _, line := range faultyCommands {
		var stdout, stderr bytes.Buffer
		status := run(strings.Fields(line), &stdout, &stderr)
		assert.NotZero(t, status, "exit status of pipeline %s", line)
		assert.Empty(t, stdout.String(), "standard output of pipeline %s", line)
		printed := strings.ReplaceAll(stderr.String(), dir, ".")
		fmt.Fprintf(&all, "\n$ pipeline %s\n%s(exit status %d)\n", line, printed, status)
	}

	if *update {
		require.NoError(t, os.WriteFile(golden, all.Bytes(), 0o644))
	}

	assert.Equal(t, string(testfile.Read(t, golden)), all.String(), "messages; -update writes %s", messagesFile)
}
