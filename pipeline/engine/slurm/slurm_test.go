package slurm

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/slurm/job"
	"doubletake/pipeline/kv"
)

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
		if got := job.Raise(c.mem, c.by, c.n); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Lines as squeue 22.05 wrote them on the tests' cluster.
func TestParseRows(t *testing.T) {
	got := parseRows("dt-y|59|N/A|CANCELLED||JobHeldUser\ndt-x|52|2|RUNNING|n2|None\nslurm_load_jobs " +
		"error\n\ndt-x|52|6|PENDING||a|b\n")
	want := []row{
		{"dt-y", "59", -1, "CANCELLED", "JobHeldUser", ""},
		{"dt-x", "52", 2, "RUNNING", "None", "n2"},
		{"dt-x", "52", 6, "PENDING", "a|b", ""},
	}

	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// Lines as sinfo 22.05 wrote them; sums by hand.
func TestProcessors(t *testing.T) {
	const out = "2/3/1/6|test*\n0/80/0/80|wide\n0/0/4/4|off\nnonsense\n"
	for partitions, want := range map[string]int{"": 5, "wide": 80, "wide,test": 85, "off": 0, "none": 0} {
		if got := processors(out, partitions); got != want {
			t.Errorf("%q: %d, expected %d", partitions, got, want)
		}
	}
}

// What each end means, by Slurm's manual (squeue, JOB STATE CODES). Some of them
// the tests' cluster cannot bring about: it has no cgroups to count memory, no
// preemption, and it requeues the jobs of a node that failed.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		state, log string
		text       string
		want       ending
	}{
		{"CANCELLED", "x", "cancelled by scancel", ending{}},
		{"CANCELLED by 1000", "x", "cancelled by scancel", ending{}}, // as sacct writes it
		{"TIMEOUT", "x", "time limit (30)", ending{again: true, cut: true}},
		{"DEADLINE", "x", "time limit (30)", ending{again: true, cut: true}},
		{"OUT_OF_MEMORY", "x", "ran out of memory", ending{again: true, more: true}},
		{"NODE_FAIL", "x", "node failed", ending{again: true, cut: true}},
		{"PREEMPTED", "x", "preempted", ending{again: true, cut: true}},
		{"FAILED", "x", "worker was killed", ending{again: true, more: true}},
		{"FAILED", "", "could not be started on the node (why)", ending{again: true, launch: true}},
		{"COMPLETED", "x", "see the same work directory", ending{again: true}},
		{"PENDING", "", "the controller has lost its job", ending{again: true}},
		{"RUNNING", "x", "gone without a result", ending{again: true, more: true}},
	} {
		text, got := verdict(c.state, "why", "30", c.log)
		if !strings.Contains(text, c.text) || got != c.want {
			t.Errorf("%s: %q, %+v", c.state, text, got)
		}
	}
}

// A node that cannot start a job is reported once and kept out of further jobs, with the nodes that the user
// excludes. A probe that fails there all the same is not repeated.
func TestExclude(t *testing.T) {
	var told []string
	e := New(Options{Notify: func(s string) { told = append(told, s) }})
	e.S = &engine.Session{Dir: "work"}

	for _, node := range []string{"n1", "n1", "n2"} {
		e.exclude(node)
	}

	if len(told) != 2 || !strings.Contains(told[0], "node n1 could not") {
		t.Errorf("%q", told)
	}

	users := job.Settings{Extra: []string{"--exclude=n[7-9]", "--nice=10"}}
	got := e.arguments(&batch{elements: []*element{{}}}, users)
	if all := strings.Join(got, " "); !strings.HasSuffix(all, " --nice=10 --exclude=n1,n2,n[7-9]") ||
		strings.Count(all, "--exclude") != 1 {
		t.Errorf("%q", got)
	}

	now := time.Now()
	e.probe = &batch{dir: t.TempDir(), elements: []*element{{state: "FAILED", node: "n2", over: now.Add(-time.Hour)}}}

	var err error
	if e.j, err = openJournal(filepath.Join(t.TempDir(), "journal")); err != nil {
		t.Fatal(err)
	}
	defer e.j.f.Close()

	if e.answer(now); e.fatal == nil || e.probe != nil {
		t.Errorf("the probe is repeated: %v", e.fatal)
	}
}

// squeue's answers about pending elements, by Slurm 22.05
// as the tests' cluster showed it: of those that a user cancels before they begin
// there is no record, but of others of their array, or of the array as a whole; a
// controller that lost its state knows nothing of the array. An element that is
// queued again has not ended.
func TestHear(t *testing.T) {
	now := time.Now()

	first := []row{{"dt-a", "7", 0, "RUNNING", "None", "n1"}, {"dt-a", "7", 1, "PENDING", "Resources", ""}}
	for _, c := range []struct {
		name  string
		then  []row
		state string // of the second element
		over  bool
	}{
		{"waits", first, "PENDING", false},
		{"cancelled", []row{{"dt-a", "7", 0, "RUNNING", "None", "n1"}}, "CANCELLED", true},
		{"array cancelled", []row{{"dt-a", "7", -1, "CANCELLED", "None", ""}}, "CANCELLED", true},
		{"lost", nil, "PENDING", true},
		{"others alone", []row{{"dt-b", "8", 1, "RUNNING", "None", "n1"}}, "PENDING", true},
		{"failed and queued again", []row{
			{"dt-a", "7", 0, "RUNNING", "None", "n1"},
			{"dt-a", "7", 1, "REQUEUED", "None", ""},
		}, "REQUEUED", false},
	} {
		e := New(Options{})
		b := &batch{name: "dt-a", job: "7", known: true, submitted: now.Add(-time.Minute), elements: []*element{{}, {}}}
		e.batches, e.attached = []*batch{b}, true
		e.update(now.Add(-2*time.Second), first)
		e.update(now, c.then)

		if el := b.elements[1]; el.state != c.state || el.over.IsZero() == c.over {
			t.Errorf("%s: state %q, over %v", c.name, el.state, el.over)
		}
	}
}

// The answer of a probe job: a clock an hour behind is reported and does no harm,
// other kernels end the run before anything is made, with the difference on both
// sides.
func TestProbeAnswer(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	here := []kv.Pair{{Key: "the program's version", Value: "1"}, {Key: "the set of numeric kernels", Value: "avx512"}}

	mixed := []kv.Pair{{Key: "the program's version", Value: "1"}, {Key: "the set of numeric kernels", Value: "avx2"}}
	for _, c := range []struct {
		name        string
		answer      Answer
		text, fatal string
	}{
		{"agrees", Answer{Facts: here, Now: now}, "", ""},
		{"slightly late", Answer{Facts: here, Now: now.Add(4 * time.Second)}, "", ""},
		{
			"behind",
			Answer{Facts: here, Now: now.Add(-time.Hour)},
			"the clock of node n7 differs: it was 11:00:00 there when it was 12:00:00 here", "",
		},
		{"ahead", Answer{Facts: here, Now: now.Add(time.Minute)}, "it was 12:01:00 there when it was 12:00:00 here", ""},
		{
			"kernels",
			Answer{Facts: mixed, Now: now},
			"",
			`probe the nodes: node n7 does not agree with the machine of the run: the set of numeric kernels is "avx2" there ` +
				`and "avx512" here`,
		},
		{
			"both",
			Answer{Facts: nil, Now: now},
			"",
			`the program's version is "" there and "1" here, the set of numeric kernels is "" there and "avx512" here`,
		},
		{
			"no project",
			Answer{Error: "open pipeline.yaml: no such file or directory", Now: now},
			"",
			"probe the nodes: on node n7: open pipeline.yaml: no such file",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := ""
			e := New(Options{Facts: here, Notify: func(s string) { text += s }})
			dir := t.TempDir()
			j, err := openJournal(filepath.Join(dir, "journal"))
			if err != nil {
				t.Fatal(err)
			}
			defer j.f.Close()
			e.j, e.probe = j, &batch{
				name: "dt-probe", dir: filepath.Join(dir, "batch"), job: "1",
				submitted: now.Add(-2 * time.Second), elements: []*element{{}},
			}

			c.answer.Node = "n7"
			js, err := json.Marshal(c.answer)
			if err = errors.Join(err, os.Mkdir(e.probe.dir, 0o755),
				os.WriteFile(filepath.Join(e.probe.dir, "probe.json"), js, 0o644)); err != nil {
				t.Fatal(err)
			}

			e.answer(now)

			if !e.probed || e.probe != nil {
				t.Error("the answer is not taken")
			}

			if text != c.text && (c.text == "" || !strings.Contains(text, c.text)) {
				t.Errorf("text %q, expected %q", text, c.text)
			}

			if c.fatal == "" && e.fatal != nil || c.fatal != "" &&
				(e.fatal == nil || !strings.Contains(e.fatal.Error(), c.fatal)) {
				t.Errorf("error %v, expected %q", e.fatal, c.fatal)
			}
		})
	}
}

// A state that a later Slurm invents must not be taken for an end.
func TestEnded(t *testing.T) {
	for _, s := range []string{
		"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED", "REQUEUE_HOLD",
		"STOPPED", "SIGNALING", "INVENTED", "",
	} {
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
		{
			"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified", true,
			false,
		},
		{"sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size " +
			"and/or time limits)", true, true},
		{"sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size " +
			"and/or time limits)", false, false},
	} {
		if got := passing(errors.New(c.text), c.inHand); got != c.want {
			t.Errorf("%q: %v", c.text, got)
		}
	}
}

// A journal whose last line was cut by a kill is read up to there, and later
// entries are not lost.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range []entry{
		{Open: "a"},
		{Of: "a", Job: "7"},
		{Died: "k", Why: "x"},
		{Died: "k", Memory: 1},
		{Open: "b"},
		{Of: "a", Close: true},
	} {
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
	if err != nil || len(m.open) != 2 || m.open[0].name != "b" || m.open[1].name != "d" || m.attempts["k"] != 2 ||
		m.raised["k"] != 1 {
		t.Errorf("%+v, %v", m, err)
	}

	if m, err := readJournal(filepath.Join(t.TempDir(), "none")); err != nil || len(m.open) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// The batch script holds no path and no name, only the setup's words, quoted.
func TestScript(t *testing.T) {
	e := &Executor{Hand: Hand{Bin: "../../bin/0123"}}
	got, err := e.script(&batch{dir: "/x/$(evil)"}, job.Settings{Setup: []string{"module load 'a b'", `echo "it's"`}})

	want := "#!/bin/bash -l\n:\nhere=$PWD\n'module' 'load' 'a b' || { echo 'setup command 1 failed'; exit 1; }\n'echo' " +
		"'it'\\''s' || { echo 'setup command 2 failed'; exit 1; }\n" +
		"cd -- \"$here\" && exec ../../bin/0123 exec --plan plan.json --index \"$SLURM_ARRAY_TASK_ID\"\n"
	if err != nil || got != want {
		t.Errorf("got\n%s\nexpected\n%s\n%v", got, want, err)
	}

	if got, err := e.script(&batch{dir: "/x"}, job.Settings{Setup: []string{"a; b"}}); err == nil {
		t.Errorf("taken: %s", got)
	}
}

// The other arguments of sbatch: an array no longer than its elements, no more of
// them at a time than allowed, jobs that may be requeued, logs that are not
// overwritten by that; settings not given are left to the cluster.
func TestArguments(t *testing.T) {
	e := New(Options{Policy: job.Policy{RetryMem: 2}})
	b := &batch{name: "dt-make-x-1", dir: "/w/.cache/slurm/batches/dt-make-x-1", elements: make([]*element, 7)}
	want := []string{
		"--parsable", "--job-name=dt-make-x-1", "--array=0-6", "--requeue", "--open-mode=append",
		"--chdir=" + b.dir, "--output=log/%a.log",
	}

	if got := e.arguments(b, job.Settings{}); !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}

	b.limit, b.memory = 3, 1
	want[2] = "--array=0-6%3"
	want = append(want, "--partition=p", "--account=a", "--qos=q", "--time=1-0", "--mem=2097152K", "--cpus-per-task=4",
		"--constraint=avx512")
	if got := e.arguments(b, job.Settings{
		Partition: "p", Account: "a", QOS: "q", Time: "1-0", Mem: "1G", CPUs: 4,
		Extra: []string{"--constraint=avx512"},
	}); !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}

	// sbatch would replace %j in the path of a log: then the script opens it.
	b.dir = "/w %j/x"
	if got := strings.Join(e.arguments(b, job.Settings{}), " "); !strings.Contains(got, "--output=/dev/null") {
		t.Error(got)
	}

	if s, err := e.script(b, job.Settings{}); err != nil ||
		!strings.Contains(s, `exec >>log/"$SLURM_ARRAY_TASK_ID".log 2>&1`) {
		t.Error(s, err)
	}
}

// Reasons to wait, by Slurm's manual (squeue, JOB REASON CODES): those that a
// free slot or the time of day ends are not reported, those that need a person
// are.
func TestSettles(t *testing.T) {
	for _, r := range []string{"", "None", "Resources", "Priority", "JobArrayTaskLimit", "BeginTime"} {
		if !settles("PENDING", r) {
			t.Errorf("%q would be reported", r)
		}
	}

	for _, r := range []string{
		"PartitionTimeLimit", "PartitionNodeLimit", "PartitionConfig",
		"QOSMaxWallDurationPerJobLimit", "QOSMaxCpuPerUserLimit", "AssocGrpCpuLimit", "ReqNodeNotAvail", "JobHeldUser",
		"JobHeldAdmin", "launch failed requeued held", "BadConstraints", "invented",
	} {
		if settles("PENDING", r) {
			t.Errorf("%q would not be reported", r)
		}
	}

	if settles("REQUEUE_HOLD", "None") {
		t.Error("a held job would not be reported")
	}
}

// The end of a log is its last lines; of one that ends with a panic, the panic,
// because what follows it is stacks.
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
		if err := os.WriteFile(path, []byte(in), 0o644); err != nil {
			t.Fatal(err)
		}

		if got := Tail(path, 3); got != want {
			t.Errorf("%q: %q, expected %q", in, got, want)
		}
	}

	if got := Tail(path+"none", 3); got != "" {
		t.Error(got)
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
