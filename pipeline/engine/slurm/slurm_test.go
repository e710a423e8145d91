package slurm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
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
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %q, %v; expected %q", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "  ", "a; b", "a && b", "a | b", "echo $HOME", "echo `id`", "echo $(id)", `echo "$HOME"`, "a\nb", "a >b", "ls *", "cd ~", "# no", "'open", `end\`, "a\x00b"} {
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
			quoted = append(quoted, quote(w))
		}
		line := strings.Join(quoted, " ")
		got, err := Words(line)
		if err != nil || !reflect.DeepEqual(got, words) {
			t.Fatalf("%q: %q, %v; expected %q", line, got, err, words)
		}
		out, err := exec.Command("/bin/sh", "-c", "printf '%s\\0' "+line).Output()
		if err != nil || string(out) != strings.Join(words, "\x00")+"\x00" {
			t.Fatalf("the shell makes of %q: %q, %v", line, out, err)
		}
	})
}

// FuzzWords holds that whatever is taken survives quoting and reading again.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"module load gcc", `a "b c" 'd e' \f`, "x'y\"z'", "$(x)", "é\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := Words(line)
		if err != nil {
			return
		}
		var q []string
		for _, w := range words {
			q = append(q, quote(w))
		}
		again, err := Words(strings.Join(q, " "))
		if err != nil || !reflect.DeepEqual(again, words) {
			t.Errorf("%q: %q, then %q, %v", line, words, again, err)
		}
	})
}

func TestIndices(t *testing.T) {
	for want, list := range map[string][]int{"": nil, "3": {3}, "0-3,7": {0, 1, 2, 3, 7}, "1,3,5-6": {1, 3, 5, 6}} {
		if got := indices(list); got != want {
			t.Errorf("%v: %q, expected %q", list, got, want)
		}
	}
}

// By hand: 2 GiB = 2·2^20 KiB, × 1.5 twice.
func TestRaise(t *testing.T) {
	for _, c := range []struct {
		mem  string
		by   float64
		n    int
		want string
	}{{"2G", 1.5, 2, "4718592K"}, {"300", 2, 1, "614400K"}, {"2G", 2, 0, "2G"}, {"", 2, 3, ""}, {"2G", 1, 3, "2G"}} {
		if got := raise(c.mem, c.by, c.n); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Lines as squeue 22.05 wrote them on the tests' cluster.
func TestParseRows(t *testing.T) {
	got := parseRows("dt-y|59|N/A|CANCELLED||JobHeldUser\ndt-x|52|2|RUNNING|n2|None\nslurm_load_jobs error\n\ndt-x|52|6|PENDING||a|b\n")
	want := []row{{"dt-y", "59", -1, "CANCELLED", "JobHeldUser", ""}, {"dt-x", "52", 2, "RUNNING", "None", "n2"}, {"dt-x", "52", 6, "PENDING", "a|b", ""}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// A state that a later Slurm invents must not be taken for an end.
func TestEnded(t *testing.T) {
	for _, s := range []string{"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED", "REQUEUE_HOLD", "STOPPED", "SIGNALING", "INVENTED", ""} {
		if ended(s) {
			t.Errorf("%q is taken for an end", s)
		}
	}
}

// Messages of sbatch: from the tests' cluster and Slurm's source.
func TestPassing(t *testing.T) {
	for _, c := range []struct {
		text   string
		inHand bool
		want   bool
	}{
		{"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", false, true},
		{"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", false, true},
		{"sbatch: error: invalid partition specified: nowhere", false, false},
		{"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified", true, false},
		{"sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", true, true},
		{"sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", false, false},
	} {
		if got := passing(errors.New(c.text), c.inHand); got != c.want {
			t.Errorf("%q: %v", c.text, got)
		}
	}
}

func TestCheckExtra(t *testing.T) {
	for _, ok := range []string{"--constraint=avx512", "--exclusive", "--nodelist=n[1-3]", "--gres=gpu:1", "--nice=100", "--comment=a b"} {
		if err := CheckExtra(ok); err != nil {
			t.Error(err)
		}
	}
	// sbatch takes abbreviations, so that --arr is --array.
	for _, bad := range []string{"constraint=x", "-C x", "--", "--array=0-3", "--arr=1", "--wrap=x", "--job-name=x", "--output=x", "--no-requeue", "--a b"} {
		if CheckExtra(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// A journal whose last line was cut by a kill is read up to there, and what is
// written after it is not lost.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []entry{{Open: "a"}, {Of: "a", Job: "7"}, {Died: "k", Why: "x"}, {Died: "k", Memory: 1}, {Open: "b"}, {Of: "a", Close: true}} {
		if err := j.write(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.f.WriteString(`{"open":"c`); err != nil {
		t.Fatal(err)
	}
	j.f.Close()
	if j, err = openJournal(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.write(entry{Open: "d"}), j.f.Close()); err != nil {
		t.Fatal(err)
	}
	m, err := readJournal(path)
	if err != nil || len(m.open) != 2 || m.open[0].name != "b" || m.open[1].name != "d" || m.attempts["k"] != 2 || m.raised["k"] != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := readJournal(filepath.Join(t.TempDir(), "none")); err != nil || len(m.open) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// The batch script holds no path and no name, only the setup's words, quoted.
func TestScript(t *testing.T) {
	e := &Executor{binary: "../../bin/0123"}
	got, err := e.script(&batch{dir: "/x/$(evil)"}, Settings{Setup: []string{"module load 'a b'", `echo "it's"`}})
	want := "#!/bin/bash -l\n:\nhere=$PWD\n'module' 'load' 'a b' || { echo 'setup command 1 failed'; exit 1; }\n'echo' 'it'\\''s' || { echo 'setup command 2 failed'; exit 1; }\n" +
		"cd -- \"$here\" && exec ../../bin/0123 exec --plan plan.json --index \"$SLURM_ARRAY_TASK_ID\"\n"
	if err != nil || got != want {
		t.Errorf("got\n%s\nexpected\n%s\n%v", got, want, err)
	}
	if got, err := e.script(&batch{dir: "/x"}, Settings{Setup: []string{"a; b"}}); err == nil {
		t.Errorf("taken: %s", got)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SLURM_CONF", "/x/slurm.conf")
	for _, k := range []string{"SLURM_JOB_ID", "SBATCH_PARTITION", "SQUEUE_FORMAT", "SLURMD_NODENAME"} {
		t.Setenv(k, "x")
	}
	env := strings.Join(environment(), "\n")
	if !strings.Contains(env, "SLURM_CONF=/x/slurm.conf") || !strings.Contains(env, "PATH="+os.Getenv("PATH")) {
		t.Error("too much is left out")
	}
	for _, k := range []string{"SLURM_JOB_ID=", "SBATCH_", "SQUEUE_", "SLURMD_"} {
		if strings.Contains(env, k) {
			t.Errorf("%s is left", k)
		}
	}
}
