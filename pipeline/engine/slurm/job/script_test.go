package job

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
//   - torque: docs.adaptivecomputing.com, TORQUE 4.1.3, "Multiple job submission" (qsub -t 0-4, PBS_ARRAYID,
//     1098[].hostname) and qsub, depend=afterokarray
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
		{"torque", "qsub", "%d[].server", "PBS_ARRAYID", [3]string{
			"-N dsp -j oe -o LOGS -S /bin/sh -t 1-3 -q long -A acoustics -l walltime=95400 -l nodes=1:ppn=4 -l mem=1536mb",
			"-N dsp-2 -j oe -o LOGS -S /bin/bash -W depend=afterokarray:1[].server",
			"-N train -j oe -o LOGS -S /bin/sh -t 1-2 -W depend=afterok:2[].server",
		}},
		{"sge", "qsub", "%d.1-9:1", "SGE_TASK_ID", [3]string{
			"-terse -N dsp -cwd -V -j y -o LOGS -S /bin/sh -t 1-3 -q long -A acoustics " +
				"-l h_rt=95400 -l mem_free=1536M -pe smp 4",
			"-terse -N dsp-2 -cwd -V -j y -o LOGS -S /bin/bash -t 1-1 -hold_jid 1",
			"-terse -N train -cwd -V -j y -o LOGS -S /bin/sh -t 1-2 -hold_jid 2",
		}},
		{"slurm", "sbatch", "%d;cluster", "SLURM_ARRAY_TASK_ID", [3]string{
			"--parsable --job-name=dsp --array=1-3 --chdir=DIR --output=LOGS/%x-%a.log --partition=long " +
				"--account=acoustics --time=1-02:30 --mem=1536M --cpus-per-task=4",
			"--parsable --job-name=dsp-2 --array=1-1 --chdir=DIR --output=LOGS/%x-%a.log --dependency=afterok:1 " +
				"--kill-on-invalid-dep=yes",
			"--parsable --job-name=train --array=1-2 --chdir=DIR --output=LOGS/%x-%a.log --dependency=afterok:2 " +
				"--kill-on-invalid-dep=yes",
		}},
	} {
		dir := filepath.Join(t.TempDir(), "a folder")
		w := flow(dir)
		path := filepath.Join(dir, "bin")

		write := func(name, text string) {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}

		write(w.Arrays[0].Words[0], "#!/bin/sh\nprintf '%s|' \"$PWD\" \"$@\" >>\"$PWD/calls\"\necho >>\"$PWD/calls\"\n")
		write(filepath.Join(path, c.command), "#!/bin/bash\nn=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n >n\n"+
			"printf '%s ' \"$@\" >>args; echo >>args\ncat >job\n"+
			"to=$(printf '%s\\n' \"$@\" | sed -n 's/^\\(--array=\\)\\{0,1\\}1-\\([0-9]*\\)$/\\2/p')\n"+
			"if [ -z \"$to\" ]; then sh job; else for i in $(seq $to); do "+
			"(export "+c.index+"=$i; cd /; sh \"$OLDPWD/job\"); done; fi\n"+
			"printf '"+c.prints+"\\n' $n\n")

		var b strings.Builder
		if err := w.Write(&b, c.name); err != nil {
			t.Fatal(err)
		}

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

		if got := strings.Split(strings.TrimSpace(string(calls)), "\n"); !slices.Equal(got, want) {
			t.Errorf("%s: the program is called %q", c.name, got)
		}
	}
}

// The form is that of the HTCondor manual 23.0: "DAGMan Workflows", SUBMIT-DESCRIPTION, JOB, VARS, PARENT
// CHILD, and condor_submit, "arguments" (new syntax: quotation marks are doubled), accounting_group, request_memory,
// allowed_execute_duration. Its arguments are undone by that document's rules and run by a shell.
func TestHTCondor(t *testing.T) {
	dir := t.TempDir()

	w := flow(dir)
	if err := os.WriteFile(w.Arrays[0].Words[0], []byte("#!/bin/sh\nprintf '%s|' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}

	var b strings.Builder
	if err := w.Write(&b, "htcondor"); err != nil {
		t.Fatal(err)
	}

	jobs, parents := 0, []string{}
	for _, l := range strings.Split(b.String(), "\n") {
		f := strings.Fields(l)
		switch {
		case len(f) == 3 && f[0] == "JOB":
			jobs++
			if !strings.Contains(b.String(), "SUBMIT-DESCRIPTION "+f[2]+" {") ||
				!strings.Contains(b.String(), "VARS "+f[1]+" part=") {
				t.Errorf("%s has no description or variables", l)
			}

		case len(f) > 0 && f[0] == "PARENT":
			parents = append(parents, l)
		case len(f) > 0 && f[0] == "arguments":
			_, a, _ := strings.Cut(l, "-c '")
			script := strings.NewReplacer(`""`, `"`, "''", "'", "$(part)", "2").Replace(strings.TrimSuffix(a, `'"`))

			out, err := exec.Command("/bin/sh", "-c", script).Output()
			if err != nil || !strings.HasPrefix(string(out), "exec|--plan|my plan.yaml|--stage|dsp|--part|2/") {
				t.Errorf("%s\nruns as %q: %s, %v", l, script, out, err)
			}
		}
	}

	want := []string{
		"PARENT dsp_part1 dsp_part2 dsp_part3 CHILD dsp_2_part1", "PARENT dsp_2_part1 CHILD train_part1 train_part2",
	}
	if jobs != 6 || !slices.Equal(parents, want) {
		t.Errorf("%d jobs, %q", jobs, parents)
	}

	for _, l := range []string{
		"accounting_group = acoustics", "request_cpus = 4", "request_memory = 1536MB",
		"allowed_execute_duration = 95400",
	} {
		if !strings.Contains(b.String(), "    "+l+"\n") {
			t.Errorf("no line %q", l)
		}
	}
}

// By hand, after sbatch(1): minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes.
func TestSeconds(t *testing.T) {
	for limit, want := range map[string]int{
		"": 0, "90": 5400, "1:30": 90, "1:00:05": 3605, "2-3": 2*86400 + 3*3600, "1-02:30": 95400, "UNLIMITED": 0,
	} {
		if got := (Array{Settings: Settings{Time: limit}}).Seconds(); got != want {
			t.Errorf("%q: %d, expected %d", limit, got, want)
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
	// Output: after=$(qsub -terse -N dsp -cwd -V -j y -o '/data/logs' -S /bin/sh -t 1-2 <<'END'
}
