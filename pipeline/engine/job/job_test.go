package job

import (
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The expected words are what a POSIX shell makes of the same line.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"module load gcc/12.2", []string{"module", "load", "gcc/12.2"}},
		{"  source\t/opt/a\\ b.sh ", []string{"source", "/opt/a b.sh"}},
		{`export NOTE='it costs $5'`, []string{"export", "NOTE=it costs $5"}},
		{`echo "a \"b\" \\ c" ''`, []string{"echo", `a "b" \ c`, ""}},
		{"echo 'two\nlines'", []string{"echo", "two\nlines"}},
	} {
		got, err := Words(c.line)
		require.NoError(t, err, "%q", c.line)
		assert.Equal(t, c.want, got, "%q", c.line)
	}
}

// Lines that a shell would interpret, and lines that are not complete, are refused.
func TestWordsRefused(t *testing.T) {
	for _, line := range []string{
		"", "  ", "a; b", "a && b", "a | b", "echo $HOME", "echo `id`", "echo $(id)",
		`echo "$HOME"`, "a\nb", "a >b", "ls *", "cd ~", "# no", "'open", `end\`, "a\x00b", "\\\x00",
	} {
		words, err := Words(line)
		assert.Error(t, err, "%q is taken as %q", line, words)
	}
}

// Words reads quoted words as a real shell does: the expected words are what /bin/sh passes to a command.
func TestWordsAndShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching("[ -~\n\té]{0,8}"), 1, 4).Draw(t, "words")

		line := quoteAll(words)
		got, err := Words(line)
		require.NoError(t, err)
		require.Equal(t, words, got, "%q", line)

		output, err := exec.Command("/bin/sh", "-c", "printf '%s\\0' "+line).Output()
		require.NoError(t, err)
		require.Equal(t, strings.Join(words, "\x00")+"\x00", string(output), "words that the shell makes of %q", line)
	})
}

// Words that were quoted are read as the same words.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"module load gcc", `a "b c" 'd e' \f`, "x'y\"z'", "$(x)", "é\x80", "\\\x00"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, line string) {
		words, err := Words(line)
		if err != nil {
			return
		}

		again, err := Words(quoteAll(words))
		require.NoError(t, err)
		assert.Equal(t, words, again, "%q", line)
	})
}

// Options in the form of a scheduler are taken by that scheduler, and if no scheduler is chosen.
func TestCheckExtra(t *testing.T) {
	for scheduler, options := range map[string][]string{
		"slurm": {
			"--constraint=avx512", "--exclusive", "--nodelist=n[1-3]", "--gres=gpu:1", "--nice=100", "--comment=a b",
		},
		"sge":      {"-l gpu=1", "-R y"},
		"pbs":      {"-l place=excl"},
		"htcondor": {"requirements = HasAVX2", "Requirements = HasAVX2", "+Project = \"x\""},
	} {
		for _, option := range options {
			require.NoError(t, checkExtra(scheduler, option), scheduler)
			require.NoError(t, checkExtra("", option), scheduler)
		}
	}
}

// Options of another form are refused, and options that the program sets itself. sbatch takes abbreviations, so that
// --arr is --array. HTCondor takes its commands in upper case too.
func TestCheckExtraRefused(t *testing.T) {
	for scheduler, options := range map[string][]string{
		"slurm": {
			"constraint=x", "-C x", "--", "--array=0-3", "--arr=1", "--wrap=x", "--job-name=x", "--output=x", "--no-requeue",
			"--a b",
		},
		"sge":      {"-t 1-3", "-sync y", "-l a;b", "--constraint=x"},
		"pbs":      {"-J 1-3", "-o x"},
		"htcondor": {"queue = 3", "executable = x", "Executable = x", "UNIVERSE = local", "-l a"},
		"":         {"--array=0-3", "-t 1-3", "x"},
	} {
		for _, option := range options {
			assert.Error(t, checkExtra(scheduler, option), "%s: %q", scheduler, option)
		}
	}
}

// Check reports each fault under the key of the setting in the configuration. Settings without a fault have the key ""
// in this table.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		settings  Settings
		wantKey   string
		scheduler string
	}{
		{Settings{}, "", "slurm"},
		{Settings{
			Partition: "batch", Time: "2-12:00", Mem: "2G", CPUs: 4, Setup: []string{"module load gcc"},
			Extra: []string{"--exclusive"},
		}, "", "slurm"},
		{Settings{Partition: "a b"}, "partition", "slurm"},
		{Settings{Account: "a\n"}, "account", "slurm"},
		{Settings{QOS: "\t"}, "qos", "slurm"},
		{Settings{Time: "soon"}, "time", "slurm"},
		{Settings{Mem: "-1G"}, "mem", "slurm"},
		{Settings{Time: "3650-00", Mem: "1024T"}, "", "slurm"},
		{Settings{Time: "3661-00"}, "time", "slurm"},
		{Settings{Time: "99999999999999999999"}, "time", "sge"}, // more than an int holds
		{Settings{Time: "999999999999999-00"}, "time", "pbs"},   // as seconds more than an int holds
		{Settings{Mem: "1025T"}, "mem", "slurm"},
		{Settings{Mem: strings.Repeat("9", 400)}, "mem", "htcondor"}, // more than a float64 holds
		{Settings{CPUs: -1}, "cpus", "slurm"},
		{Settings{QOS: "night"}, "", ""},
		{Settings{QOS: "night"}, "qos", "sge"},
		{Settings{MaxRunning: -1}, "max_running", "pbs"},
		{Settings{MaxRunning: math.MaxInt}, "max_running", "pbs"},
		{Settings{CPUs: math.MaxInt}, "cpus", "slurm"},
		{Settings{Setup: []string{"a; b"}}, "setup", "slurm"},
		{Settings{Extra: []string{"--array=0-3"}}, "extra", "slurm"},
	} {
		var keys []string
		c.settings.Check(c.scheduler, func(key, _ string) { keys = append(keys, key) })

		assert.Equal(t, c.wantKey, strings.Join(keys, " "), "%+v", c.settings)
	}
}

// Settings that are given for some jobs replace the settings of all jobs, even if the given value is zero or an empty
// list.
func TestOver(t *testing.T) {
	all := Settings{Partition: "batch", Time: "10", CPUs: 4, Setup: []string{"module load gcc"}}
	got := Settings{Time: "4:00:00", Setup: []string{}}.Over(all, func(key string) bool {
		return slices.Contains([]string{"time", "cpus", "setup"}, key)
	})

	assert.Equal(t, (Settings{Partition: "batch", Time: "4:00:00", Setup: []string{}}), got)
}
