package job

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/must"
)

// flow is two stages, in a folder and with a program whose names need quotes.
func flow(dir string) Workflow {
	words := []string{filepath.Join(dir, "it's a program"), "exec", "--plan", "my plan.yaml", "--stage", "dsp", "--part"}
	set := Settings{Partition: "long", Account: "acoustics", Time: "1-02:30", Mem: "1.5G", CPUs: 4}
	set.Mem = "1536M"

	return Workflow{
		Plan: "my plan.yaml", Dir: dir, Logs: filepath.Join(dir, "logs"), Image: "registry/doubletake:1", Run: "1a2b",
		User: 1000, Group: 100,
		Arrays: []Array{
			{Settings: set, Name: "dsp", Parts: 3, Words: words},
			{Settings: Settings{Setup: []string{"true 'x y'"}}, Name: "dsp-2", Parts: 1, Words: words},
			{Name: "train", Parts: 2, Words: words},
		},
	}
}

// The scripts are run by a real shell, with programs instead of qsub and sbatch that record their
// arguments and run each job of the array as the scheduler would. Expected arguments, by the documents:
//   - pbs: PBS Professional User's Guide 2021.1, chapter 9 (qsub -J X-Y, PBS_ARRAY_INDEX; a range has at
//     least two) and section 6.2 (-W depend=afterok:<array>[]); openpbs/openpbs doc/man1/qsub.1B
//   - sge: qsub(1) of Grid Engine 8.1.9 (-t, -terse, -hold_jid, SGE_TASK_ID; prints 5.1-3:1)
//   - slurm: sbatch(1) 22.05 (--array, --parsable, --dependency=afterok)
func TestScripts(t *testing.T) {
	for _, c := range []struct {
		name, command, prints, index string
		want                         [3]string
	}{
		{"pbs", "qsub", "%d[].server", "PBS_ARRAY_INDEX", [3]string{
			"-N dsp -j oe -o LOGS -S /bin/sh -J 1-3 -q long -A acoustics -l walltime=95400 -l select=1:ncpus=4:mem=1536mb",
			"-N dsp-2 -j oe -o LOGS -S /bin/bash -W depend=afterok:1[].server",
			"-N train -j oe -o LOGS -S /bin/sh -J 1-2 -W depend=afterok:2[].server",
		}},
		{"sge", "qsub", "%d.1-9:1", "SGE_TASK_ID", [3]string{
			"-terse -N dsp -wd / -V -j y -o LOGS -S /bin/sh -t 1-3 -q long -A acoustics " +
				"-l h_rt=95400 -l mem_free=1536M -pe smp 4",
			"-terse -N dsp-2 -wd / -V -j y -o LOGS -S /bin/bash -t 1-1 -hold_jid 1",
			"-terse -N train -wd / -V -j y -o LOGS -S /bin/sh -t 1-2 -hold_jid 2",
		}},
		{"slurm", "sbatch", "%d;cluster", "SLURM_ARRAY_TASK_ID", [3]string{
			"--parsable --job-name=dsp --array=1-3 --chdir=/ --output=LOGS/%x-%a.log --partition=long " +
				"--account=acoustics --time=1-02:30 --mem=1536M --cpus-per-task=4",
			"--parsable --job-name=dsp-2 --array=1-1 --chdir=/ --output=LOGS/%x-%a.log --dependency=afterok:1 " +
				"--kill-on-invalid-dep=yes",
			"--parsable --job-name=train --array=1-2 --chdir=/ --output=LOGS/%x-%a.log --dependency=afterok:2 " +
				"--kill-on-invalid-dep=yes",
		}},
	} {
		dir := filepath.Join(t.TempDir(), "a folder")
		w := flow(dir)
		path := filepath.Join(dir, "bin")

		write := func(name, text string) {
			must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
			must.Do(t, os.WriteFile(name, []byte(text), 0o755))
		}

		write(w.Arrays[0].Words[0], "#!/bin/sh\nprintf '%s|' \"$PWD\" \"$@\" >>\"$PWD/calls\"\necho >>\"$PWD/calls\"\n")
		write(filepath.Join(path, c.command), "#!/bin/bash\nn=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n >n\n"+
			"printf '%s ' \"$@\" >>args; echo >>args\ncat >job\n"+
			"to=$(printf '%s\\n' \"$@\" | sed -n 's/^\\(--array=\\)\\{0,1\\}1-\\([0-9]*\\)$/\\2/p')\n"+
			"if [ -z \"$to\" ]; then sh job; else for i in $(seq $to); do "+
			"(export "+c.index+"=$i; cd /; sh \"$OLDPWD/job\"); done; fi\n"+
			"printf '"+c.prints+"\\n' $n\n")

		var b strings.Builder
		must.Do(t, w.Write(&b, c.name))

		cmd := exec.Command("/bin/sh", "-c", b.String())
		cmd.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s\n%s", c.name, err, out, b.String())
		}

		args, _ := os.ReadFile(filepath.Join(dir, "args"))

		lines := strings.Split(strings.TrimSpace(string(args)), "\n")
		for i, want := range c.want {
			want = strings.NewReplacer("LOGS", w.Logs, "DIR", w.Dir).Replace(want)
			if i >= len(lines) || strings.TrimSpace(lines[i]) != want {
				t.Errorf("%s, array %d:\n%s\nexpected\n%s", c.name, i, lines[min(i, len(lines)-1)], want)
			}
		}

		calls, _ := os.ReadFile(filepath.Join(dir, "calls"))

		var want []string
		for _, part := range []string{"1/3", "2/3", "3/3", "1/1", "1/2", "2/2"} {
			want = append(want, dir+"|exec|--plan|my plan.yaml|--stage|dsp|--part|"+part+"|")
		}

		must.Equal(t, strings.Split(strings.TrimSpace(string(calls)), "\n"), want, "%s: the program is called", c.name)
	}
}

// The form is that of the HTCondor manual 23.0: "DAGMan Workflows", SUBMIT-DESCRIPTION, JOB, VARS, PARENT
// CHILD, and condor_submit, "arguments" (new syntax: quotation marks are doubled), accounting_group, request_memory,
// allowed_execute_duration. Its arguments are undone by that document's rules and run by a shell.
func TestHTCondor(t *testing.T) {
	dir := t.TempDir()

	w := flow(dir)
	must.Do(t, os.WriteFile(w.Arrays[0].Words[0], []byte("#!/bin/sh\nprintf '%s|' \"$@\"\n"), 0o755))

	var b strings.Builder
	must.Do(t, w.Write(&b, "htcondor"))

	jobs, parents := 0, []string{}
	for _, l := range strings.Split(b.String(), "\n") {
		f := strings.Fields(l)
		switch {
		case len(f) == 3 && f[0] == "JOB":
			jobs++
			must.Contain(t, b.String(), "SUBMIT-DESCRIPTION "+f[2]+" {", "VARS "+f[1]+" part=")

		case len(f) > 0 && f[0] == "PARENT":
			parents = append(parents, l)
		case len(f) > 0 && f[0] == "arguments":
			_, a, _ := strings.Cut(l, "-c '")
			script := strings.NewReplacer(`""`, `"`, "''", "'", "$(part)", "2").Replace(strings.TrimSuffix(a, `'"`))

			out, err := exec.Command("/bin/sh", "-c", script).Output()
			must.Not(t, err != nil || !strings.HasPrefix(string(out), "exec|--plan|my plan.yaml|--stage|dsp|--part|2/"),
				"%s\nruns as %q: %s, %v", l, script, out, err)
		}
	}

	want := []string{
		"PARENT dsp_part1 dsp_part2 dsp_part3 CHILD dsp_2_part1", "PARENT dsp_2_part1 CHILD train_part1 train_part2",
	}
	must.Not(t, jobs != 6 || !slices.Equal(parents, want), "%d jobs, %q", jobs, parents)

	for _, l := range []string{
		"accounting_group = acoustics", "request_cpus = 4", "request_memory = 1536MB",
		"allowed_execute_duration = 95400",
	} {
		must.Contain(t, b.String(), "    "+l+"\n")
	}
}

// By hand, after sbatch(1): minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes.
func TestSeconds(t *testing.T) {
	for limit, want := range map[string]int{
		"": 0, "90": 5400, "1:30": 90, "1:00:05": 3605, "2-3": 2*86400 + 3*3600, "1-02:30": 95400, "UNLIMITED": 0,
	} {
		must.Equal(t, (Array{Settings: Settings{Time: limit}}).Seconds(), want, "%q", limit)
	}
}

// Submissions of the executor, by the documents that TestScripts names, and condor_submit of the HTCondor manual 23.0
// (executable, arguments in the new syntax, queue N, +attributes): the settings' words, options of the user's, and
// jobs that leave nothing where they run.
func TestSubmit(t *testing.T) {
	set := Settings{Partition: "long", Account: "acoustics", QOS: "night", Time: "2:00:00", Mem: "1G", CPUs: 4}
	for _, c := range []struct{ name, extra, want, cancel, why, avoid string }{
		{
			"slurm", "--comment=a b", "sbatch|--parsable|--job-name=dt-train|--array=1-3|--chdir=/|--output=/dev/null|" +
				"--partition=long|--account=acoustics|--qos=night|--time=2:00:00|--mem=1G|--cpus-per-task=4|--comment=a b",
			"scancel|7", "squeue|--noheader|--jobs=7|--format=%i %T %r", "--exclude=n1,n2,n3",
		},
		{
			"sge", "-l gpu=1", "qsub|-terse|-N|dt-train|-wd|/|-V|-j|y|-o|/dev/null|-S|/bin/sh|-t|1-3|-q|long|-A|acoustics|" +
				"-l|h_rt=7200|-l|mem_free=1024M|-pe|smp|4|-l|gpu=1", "qdel|7", "qstat|-f|-explain|a", "hostname=!(n1|n2)",
		},
		{
			"pbs", "-l place=excl", "qsub|-N|dt-train|-j|oe|-o|/dev/null|-S|/bin/sh|-J|1-3|-q|long|-A|acoustics|" +
				"-l|walltime=7200|-l|select=1:ncpus=4:mem=1024mb|-l|place=excl", "qdel|7[]", "qstat|-s|7[]", "",
		},
		{"htcondor", "requirements = HasAVX2", "condor_submit|-terse", "condor_rm|7", "condor_q|-better-analyze|7.0", ""},
	} {
		s, a := Find(c.name), Array{Settings: set, Name: "dt-train", Parts: 3}
		a.Extra = []string{c.extra}

		got, err := s.Submit(a)
		must.Not(t, err != nil || strings.Join(got, "|") != c.want, "%s: %q, %v", c.name, got, err)

		a.Extra, a.Avoid = []string{"--exclude=n3"}, []string{"n1", "n2"}
		if c.name != "slurm" {
			a.Extra = nil
		}

		got, err = s.Submit(a)
		must.Not(t, err != nil || c.avoid != "" && got[len(got)-1] != c.avoid, "%s: %q, %v", c.name, got, err)

		j := Job{"7", 3}
		must.Equal(t, strings.Join(s.Cancel(j), "|"), c.cancel, "%s cancels by", c.name)
		must.Equal(t, strings.Join(s.Why(j), "|"), c.why, "%s explains by", c.name)
	}

	want := `
    universe = vanilla
    executable = /bin/sh
    arguments = "'/a ''b''/dt.sh' $(Process)"
    initialdir = /
    should_transfer_files = NO
    getenv = true
    requirements = TARGET.Machine =!= "n1" && TARGET.Machine =!= "n2"
    request_cpus = 2
    request_memory = 1024MB
    +Project = "x"
    queue 3
`

	got := Find("htcondor").Describe(Array{
		Settings: Settings{Mem: "1G", CPUs: 2, Extra: []string{`+Project = "x"`}}, Parts: 3,
		Avoid: []string{"n1", "n2"},
	}, "/a 'b'/dt.sh")
	must.Equal(t, got, want, "got")
}

// The script of a part is run by a shell, as each scheduler would: the folder is that of the part, words of the setup
// are quoted, and what is printed is in its log. A part that does not see the work directory
// holds its place and fails.
func TestScript(t *testing.T) {
	for _, s := range schedulers {
		if s.line == nil {
			continue
		}

		dir := filepath.Join(t.TempDir(), "it's a folder")
		at := filepath.Join(dir, "dt-x-2")
		must.Do(t, os.MkdirAll(at, 0o755))

		a := Array{
			Settings: Settings{Setup: []string{`echo "a  b" "it's"`, "cd /"}}, Name: "dt-x", Parts: 2, Dir: dir,
			Words: []string{"/bin/echo", "x y"},
		}

		text := must.Get(s.Script(a, 0))(t)

		run := func() error {
			c := exec.Command("/bin/bash", "-c", text, "script", "1")
			for _, name := range []string{"PBS_ARRAY_INDEX", "SGE_TASK_ID", "SLURM_ARRAY_TASK_ID"} {
				c.Env = append(c.Env, name+"=2")
			}

			return c.Run()
		}

		err := run()
		log, _ := os.ReadFile(filepath.Join(at, "log"))
		must.Not(t, err != nil || string(log) != "a  b it's\nx y\n", "%s: %q, %v", s.Name, log, err)

		if err := errors.Join(os.RemoveAll(at), run()); err != nil {
			t.Errorf("%s: a part that is withdrawn: %v", s.Name, err)
		}

		must.Do(t, os.RemoveAll(dir))

		if err := run(); err == nil {
			t.Errorf("%s: a part that sees no work directory succeeds", s.Name)
		}

		if text, err := s.Script(a, 300); err != nil || !strings.Contains(text, "|| { sleep 300; exit 1; }") {
			t.Errorf("%s: %s", text, err)
		}
	}
}

// Listings: of Slurm 22.05 and Grid Engine 8.1.9 as their programs printed them, of PBS from the PBS Professional
// User's Guide 2021.1, section 10.1 and "Viewing Status of Job Arrays", of HTCondor from its manual 23.0, condor_q,
// -autoformat, and JobStatus 1 idle, 2 running.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		queue string
		want  map[Part]State
	}{
		"slurm": {"12 1 RUNNING n1\n12 2 PENDING \n13 N/A PENDING \n", map[Part]State{
			{"12", 1}: {true, "n1"}, {"12", 2}: {},
		}},
		"sge": {
			`job-ID  prior   name       user         state submit/start at     queue                          slots ja-task-ID
-----------------------------------------------------------------------------------------------------------------
      5 0.55500 dt-x       root         r     11/26/2026 05:00:01 all.q@node1                        1 2
      5 0.55500 dt-x       root         qw    11/26/2026 05:00:01                                    1 3,5-6:1
`,
			map[Part]State{{"5", 2}: {true, "node1"}, {"5", 3}: {}, {"5", 5}: {}, {"5", 6}: {}},
		},
		"pbs": {
			`Job id            Name             User              Time Use S Queue
----------------  ---------------- ----------------  -------- - -----
1235[].host       dt-x             user1             0        B workq
1235[1].host      dt-x             user1             00:00:07 R workq
1235[2].host      dt-x             user1             0        Q workq
1236.host         dt-y             user1             0        Q workq
`,
			map[Part]State{{"1235", 1}: {Running: true}, {"1235", 2}: {}, {"1236", 1}: {}},
		},
		"htcondor": {"5 0 2 slot1@node1\n5 1 1 undefined\n", map[Part]State{
			{"5", 1}: {true, "node1"}, {"5", 2}: {Node: "undefined"},
		}},
	} {
		if got := Find(name).Read(c.queue); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An array of 2 parts for Grid Engine.
func ExampleWorkflow_Write() {
	w := Workflow{Plan: "pipeline.yaml", Dir: "/data", Logs: "/data/logs", Arrays: []Array{
		{Name: "dsp", Parts: 2, Words: []string{"pipeline", "exec", "--stage", "dsp", "--part"}},
	}}

	var b strings.Builder
	if err := w.Write(&b, "sge"); err != nil {
		fmt.Println(err)
	}

	fmt.Print(b.String()[strings.Index(b.String(), "after="):strings.Index(b.String(), "#!/bin/sh\nset -e\n")])
	// Output: after=$(qsub -terse -N dsp -wd / -V -j y -o '/data/logs' -S /bin/sh -t 1-2 <<'END'
}
