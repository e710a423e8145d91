package job

import (
	"errors"
	"math"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doubletake/internal/must"
)

// Expected words are written by hand, from what a POSIX shell makes of the same
// line where it is a plain command.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"module load gcc/12.2", []string{"module", "load", "gcc/12.2"}},
		{"  source\t/opt/a\\ b.sh ", []string{"source", "/opt/a b.sh"}},
		{`export NOTE='it costs $5'`, []string{"export", "NOTE=it costs $5"}},
		{`echo "a \"b\" \\ c" ''`, []string{"echo", `a "b" \ c`, ""}},
		{"echo 'two\nlines'", []string{"echo", "two\nlines"}},
	} {
		got, err := Words(c.in)
		must.Not(t, err != nil || !reflect.DeepEqual(got, c.want), "%q: %q, %v; expected %q", c.in, got, err, c.want)
	}

	for _, bad := range []string{
		"", "  ", "a; b", "a && b", "a | b", "echo $HOME", "echo `id`", "echo $(id)",
		`echo "$HOME"`, "a\nb", "a >b", "ls *", "cd ~", "# no", "'open", `end\`, "a\x00b", "\\\x00",
	} {
		if got, err := Words(bad); err == nil {
			t.Errorf("%q: taken as %q", bad, got)
		}
	}
}

// What Words takes, quoted, is to a real shell the same words: the witness is
// /bin/sh itself.
func TestWordsAndShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching("[ -~\n\té]{0,8}"), 1, 4).Draw(t, "words")

		var quoted []string
		for _, w := range words {
			quoted = append(quoted, Quote(w))
		}

		line := strings.Join(quoted, " ")
		got, err := Words(line)
		must.Never(t, err != nil || !reflect.DeepEqual(got, words), "%q: %q, %v; expected %q", line, got, err, words)

		out, err := exec.Command("/bin/sh", "-c", "printf '%s\\0' "+line).Output()
		must.Never(t, err != nil || string(out) != strings.Join(words, "\x00")+"\x00",
			"the shell makes of %q: %q, %v", line, out, err)
	})
}

// FuzzWords holds that whatever is taken survives quoting and reading again.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"module load gcc", `a "b c" 'd e' \f`, "x'y\"z'", "$(x)", "é\x80", "\\\x00"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, line string) {
		words, err := Words(line)
		if err != nil {
			return
		}

		var q []string
		for _, w := range words {
			q = append(q, Quote(w))
		}

		again, err := Words(strings.Join(q, " "))
		must.Not(t, err != nil || !reflect.DeepEqual(again, words), "%q: %q, then %q, %v", line, words, again, err)
	})
}

func TestCheckExtra(t *testing.T) {
	for of, list := range map[string][]string{
		"slurm": {
			"--constraint=avx512", "--exclusive", "--nodelist=n[1-3]", "--gres=gpu:1", "--nice=100", "--comment=a b",
		},
		"sge": {"-l gpu=1", "-R y"}, "pbs": {"-l place=excl"}, "htcondor": {"requirements = HasAVX2", "+Project = \"x\""},
	} {
		for _, o := range list {
			must.Do(t, errors.Join(checkExtra(of, o), checkExtra("", o)))
		}
	}

	// sbatch takes abbreviations, so that --arr is --array.
	for of, list := range map[string][]string{
		"slurm": {
			"constraint=x", "-C x", "--", "--array=0-3", "--arr=1", "--wrap=x", "--job-name=x", "--output=x", "--no-requeue",
			"--a b",
		},
		"sge": {"-t 1-3", "-sync y", "-l a;b", "--constraint=x"}, "pbs": {"-J 1-3", "-o x"},
		"htcondor": {"queue = 3", "executable = x", "-l a"}, "": {"--array=0-3", "-t 1-3", "x"},
	} {
		for _, o := range list {
			must.Not(t, checkExtra(of, o) == nil, "%s: %q is taken", of, o)
		}
	}
}

// Limits written by hand; each fault is reported under the configuration's key.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		s        Settings
		want, of string
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
		{Settings{CPUs: -1}, "cpus", "slurm"},
		{Settings{QOS: "night"}, "", ""},
		{Settings{QOS: "night"}, "qos", "sge"},
		{Settings{MaxRunning: -1}, "max_running", "pbs"},
		{Settings{MaxRunning: math.MaxInt}, "max_running", "pbs"},
		{Settings{CPUs: math.MaxInt}, "cpus", "slurm"},
		{Settings{Setup: []string{"a; b"}}, "setup", "slurm"},
		{Settings{Extra: []string{"--array=0-3"}}, "extra", "slurm"},
	} {
		var got []string
		c.s.Check(c.of, func(setting, _ string) { got = append(got, setting) })

		must.Not(t, strings.Join(got, " ") != c.want, "%+v: %q, expected %q", c.s, got, c.want)
	}
}

// What is given for some jobs replaces that of all; a zero or an empty list that is given is a value.
func TestOver(t *testing.T) {
	all := Settings{Partition: "batch", Time: "10", CPUs: 4, Setup: []string{"module load gcc"}}
	got := Settings{Time: "4:00:00", Setup: []string{}}.Over(all, func(key string) bool {
		return slices.Contains([]string{"time", "cpus", "setup"}, key)
	})

	must.Equal(t, got, (Settings{Partition: "batch", Time: "4:00:00", Setup: []string{}}), "got")
}
