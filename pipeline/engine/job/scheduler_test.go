package job

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flow returns a workflow of three arrays. The names of its folder, its program and its configuration need quotes.
func flow(dir string) Workflow {
	words := []string{filepath.Join(dir, "it's a program"), "exec", "--plan", "my plan.yaml", "--stage", "dsp", "--part"}
	set := Settings{Partition: "long", Account: "acoustics", Time: "1-02:30", Mem: "1536M", CPUs: 4}

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

// submitter stands for the command of a scheduler that submits a script. It appends its arguments to the file args, and
// runs each part of the array in the folder /, as a scheduler would.
type submitter struct {
	command string // name of the scheduler's command
	index   string // environment variable with the number of the part
	prints  string // what the command prints, for printf, with the number of the job
}

// write writes the command as a shell script into a folder.
func (s submitter) write(t *testing.T, dir string) {
	t.Helper()

	writeProgram(t, filepath.Join(dir, s.command), `#!/bin/bash
n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n >n
printf '%s ' "$@" >>args; echo >>args
cat >job
to=$(printf '%s\n' "$@" | sed -n 's/^\(--array=\)\{0,1\}1-\([0-9]*\)$/\2/p')
if [ -z "$to" ]; then
	sh job
else
	for i in $(seq $to); do (export `+s.index+`=$i; cd /; sh "$OLDPWD/job"); done
fi
printf '`+s.prints+`\n' $n
`)
}

// writeProgram writes a file that can be executed, and its folder.
func writeProgram(t *testing.T, path, text string) {
	t.Helper()

	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
}

// readLines returns the lines of a file.
func readLines(t *testing.T, path string) []string {
	t.Helper()

	text, err := os.ReadFile(path)
	require.NoError(t, err)

	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// The script of a workflow is run by a real shell, with a submitter instead of qsub or sbatch. The expected arguments
// follow the documents:
//   - pbs: PBS Professional User's Guide 2021.1, chapter 9 (qsub -J X-Y, PBS_ARRAY_INDEX; a range has at
//     least two) and section 6.2 (-W depend=afterok:<array>[]); openpbs/openpbs doc/man1/qsub.1B
//   - sge: qsub(1) of Grid Engine 8.1.9 (-t, -terse, -hold_jid, SGE_TASK_ID; prints 5.1-3:1)
//   - slurm: sbatch(1) 22.05 (--array, --parsable, --dependency=afterok)
func TestWorkflowScripts(t *testing.T) {
	for _, c := range []struct {
		name      string
		submitter submitter
		want      []string // arguments of each array
	}{
		{"pbs", submitter{"qsub", "PBS_ARRAY_INDEX", "%d[].server"}, []string{
			"-N dsp -j oe -o LOGS -S /bin/sh -J 1-3 -q long -A acoustics -l walltime=95400 -l select=1:ncpus=4:mem=1536mb",
			"-N dsp-2 -j oe -o LOGS -S /bin/bash -W depend=afterok:1[].server",
			"-N train -j oe -o LOGS -S /bin/sh -J 1-2 -W depend=afterok:2[].server",
		}},
		{"sge", submitter{"qsub", "SGE_TASK_ID", "%d.1-9:1"}, []string{
			"-terse -N dsp -wd / -V -j y -o LOGS -S /bin/sh -t 1-3 -q long -A acoustics " +
				"-l h_rt=95400 -l mem_free=1536M -pe smp 4",
			"-terse -N dsp-2 -wd / -V -j y -o LOGS -S /bin/bash -t 1-1 -hold_jid 1",
			"-terse -N train -wd / -V -j y -o LOGS -S /bin/sh -t 1-2 -hold_jid 2",
		}},
		{"slurm", submitter{"sbatch", "SLURM_ARRAY_TASK_ID", "%d;cluster"}, []string{
			"--parsable --job-name=dsp --array=1-3 --chdir=/ --output=LOGS/%x-%a.log --partition=long " +
				"--account=acoustics --time=1-02:30 --mem=1536M --cpus-per-task=4",
			"--parsable --job-name=dsp-2 --array=1-1 --chdir=/ --output=LOGS/%x-%a.log --dependency=afterok:1 " +
				"--kill-on-invalid-dep=yes",
			"--parsable --job-name=train --array=1-2 --chdir=/ --output=LOGS/%x-%a.log --dependency=afterok:2 " +
				"--kill-on-invalid-dep=yes",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a folder")
			w := flow(dir)
			commands := filepath.Join(dir, "bin")
			c.submitter.write(t, commands)

			// The program appends its working directory and its arguments to the file calls.
			writeProgram(t, w.Arrays[0].Words[0],
				"#!/bin/sh\nprintf '%s|' \"$PWD\" \"$@\" >>\"$PWD/calls\"\necho >>\"$PWD/calls\"\n")

			var script strings.Builder
			require.NoError(t, w.Write(&script, c.name))

			cmd := exec.Command("/bin/sh", "-c", script.String())
			cmd.Env = append(os.Environ(), "PATH="+commands+":"+os.Getenv("PATH"))
			output, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", output, script.String())

			args := readLines(t, filepath.Join(dir, "args"))
			require.Len(t, args, len(c.want), "submissions")
			for i, want := range c.want {
				assert.Equal(t, strings.ReplaceAll(want, "LOGS", w.Logs), strings.TrimSpace(args[i]), "array %d", i)
			}

			var calls []string
			for _, part := range []string{"1/3", "2/3", "3/3", "1/1", "1/2", "2/2"} {
				calls = append(calls, dir+"|exec|--plan|my plan.yaml|--stage|dsp|--part|"+part+"|")
			}

			assert.Equal(t, calls, readLines(t, filepath.Join(dir, "calls")), "calls of the program")
		})
	}
}

// The workflow has the form of the HTCondor manual 23.0: "DAGMan Workflows" (SUBMIT-DESCRIPTION, JOB, VARS, PARENT
// CHILD), and condor_submit (accounting_group, request_memory, allowed_execute_duration).
func TestHTCondorWorkflow(t *testing.T) {
	var b strings.Builder
	require.NoError(t, flow(t.TempDir()).Write(&b, "htcondor"))
	text := b.String()

	jobs := 0
	var parents []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 3 && fields[0] == "JOB":
			jobs++
			assert.Contains(t, text, "SUBMIT-DESCRIPTION "+fields[2]+" {")
			assert.Contains(t, text, "VARS "+fields[1]+" part=")
		case len(fields) > 0 && fields[0] == "PARENT":
			parents = append(parents, strings.TrimSpace(line))
		}
	}

	assert.Equal(t, 6, jobs, "3 + 1 + 2 parts")
	assert.Equal(t, []string{
		"PARENT dsp_part1 dsp_part2 dsp_part3 CHILD dsp_2_part1", "PARENT dsp_2_part1 CHILD train_part1 train_part2",
	}, parents)

	for _, line := range []string{
		"accounting_group = acoustics", "request_cpus = 4", "request_memory = 1536MB",
		"allowed_execute_duration = 95400",
	} {
		assert.Contains(t, text, "    "+line+"\n")
	}
}

// The arguments of HTCondor's jobs have the new syntax of condor_submit in the manual 23.0: quotation marks are doubled
// within '…'. The test undoes this by the rules of the manual and has a shell run the result.
func TestHTCondorArguments(t *testing.T) {
	w := flow(t.TempDir())
	writeProgram(t, w.Arrays[0].Words[0], "#!/bin/sh\nprintf '%s|' \"$@\"\n")

	var b strings.Builder
	require.NoError(t, w.Write(&b, "htcondor"))

	var outputs []string
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(strings.TrimSpace(line), "arguments = ") {
			continue
		}

		_, quoted, found := strings.Cut(strings.TrimSuffix(line, "'\"\n"), "-c '")
		require.True(t, found, line)

		script := strings.NewReplacer(`""`, `"`, "''", "'", "$(part)", "2").Replace(quoted)
		output, err := exec.Command("/bin/sh", "-c", script).Output()
		require.NoError(t, err, "%s runs as %q", line, script)

		outputs = append(outputs, string(output))
	}

	assert.Equal(t, []string{
		"exec|--plan|my plan.yaml|--stage|dsp|--part|2/3|",
		"exec|--plan|my plan.yaml|--stage|dsp|--part|2/1|",
		"exec|--plan|my plan.yaml|--stage|dsp|--part|2/2|",
	}, outputs, "the arguments of the program in part 2 of each array")
}

// The expected seconds were computed by hand from the forms of sbatch(1): minutes, minutes:seconds,
// hours:minutes:seconds, days-hours, days-hours:minutes.
func TestSeconds(t *testing.T) {
	for limit, want := range map[string]int{
		"": 0, "90": 5400, "1:30": 90, "1:00:05": 3605, "2-3": 2*86400 + 3*3600, "1-02:30": 95400, "UNLIMITED": 0,
	} {
		assert.Equal(t, want, (Array{Settings: Settings{Time: limit}}).Seconds(), "%q", limit)
	}
}

// The words of submissions follow the documents that TestWorkflowScripts names, and the HTCondor manual 23.0. Options
// of the user come last. The jobs leave no file where they run.
func TestSubmit(t *testing.T) {
	set := Settings{Partition: "long", Account: "acoustics", QOS: "night", Time: "2:00:00", Mem: "1G", CPUs: 4}
	for _, c := range []struct{ name, extra, submit, cancel, why string }{
		{
			"slurm", "--comment=a b", "sbatch|--parsable|--job-name=dt-train|--array=1-3|--chdir=/|--output=/dev/null|" +
				"--partition=long|--account=acoustics|--qos=night|--time=2:00:00|--mem=1G|--cpus-per-task=4|--comment=a b",
			"scancel|7", "squeue|--noheader|--jobs=7|--format=%i %T %r",
		},
		{
			"sge", "-l gpu=1", "qsub|-terse|-N|dt-train|-wd|/|-V|-j|y|-o|/dev/null|-S|/bin/sh|-t|1-3|-q|long|-A|acoustics|" +
				"-l|h_rt=7200|-l|mem_free=1024M|-pe|smp|4|-l|gpu=1", "qdel|7", "qstat|-f|-explain|a",
		},
		{
			"pbs", "-l place=excl", "qsub|-N|dt-train|-j|oe|-o|/dev/null|-S|/bin/sh|-J|1-3|-q|long|-A|acoustics|" +
				"-l|walltime=7200|-l|select=1:ncpus=4:mem=1024mb|-l|place=excl", "qdel|7[]", "qstat|-s|7[]",
		},
		{"htcondor", "requirements = HasAVX2", "condor_submit|-terse", "condor_rm|7", "condor_q|-better-analyze|7.0"},
	} {
		s := Find(c.name)
		array := Array{Settings: set, Name: "dt-train", Parts: 3}
		array.Extra = []string{c.extra}

		submit, err := s.Submit(array)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.submit, strings.Join(submit, "|"))

		submitted := Job{ID: "7", Parts: 3}
		cancel, err := s.Cancel(submitted)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.cancel, strings.Join(cancel, "|"), c.name)

		why, err := s.Why(submitted)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.why, strings.Join(why, "|"), c.name)
	}
}

// The commands that list the queue name the fields that the expressions of schedulers read, in the words of the
// documents that TestRead names. The program only writes files for Kubernetes, so that it has no such command.
func TestQueue(t *testing.T) {
	for name, want := range map[string]string{
		"slurm":    "squeue|--noheader|--me|--array|--format=%F %K %T %N",
		"sge":      "qstat",
		"pbs":      "qstat|-t",
		"htcondor": "condor_q|-autoformat|ClusterId|ProcId|JobStatus|RemoteHost",
	} {
		words, err := Find(name).Queue()
		require.NoError(t, err, name)
		assert.Equal(t, want, strings.Join(words, "|"), name)
	}

	_, err := Find("k8s").Queue()
	require.ErrorContains(t, err, `"k8s queue"`)
}

// The last word of a submission names the nodes to avoid: by --exclude of sbatch(1), which takes only the last of such
// options, and by a request of the resource hostname in qsub(1) of Grid Engine. By getopt_long(3) of sbatch, --exclud
// is an abbreviation of --exclude; --exclu also begins --exclusive.
func TestAvoidedNodes(t *testing.T) {
	for _, option := range []string{"--exclude=n3", "--exclud=n3"} {
		extra := Settings{Extra: []string{option, "--exclusive=user"}}
		words, err := Find("slurm").Submit(Array{Settings: extra, Name: "x", Parts: 1, Avoid: []string{"n1", "n2"}})
		require.NoError(t, err)
		assert.Equal(t, "--exclude=n1,n2,n3", words[len(words)-1], option)
	}

	words, err := Find("sge").Submit(Array{Name: "x", Parts: 1, Avoid: []string{"n1", "n2"}})
	require.NoError(t, err)
	assert.Equal(t, "hostname=!(n1|n2)", words[len(words)-1])
}

// The description of an array has the form of condor_submit in the HTCondor manual 23.0: executable, arguments in the
// new syntax, queue N, +attributes.
func TestDescribe(t *testing.T) {
	want := `
    universe = vanilla
    executable = /bin/sh
    arguments = "'/a ''b''/dt.sh' $(Process)"
    initialdir = /
    should_transfer_files = NO
    getenv = true
    request_cpus = 2
    request_memory = 1024MB
    +Project = "x"
    requirements = TARGET.Machine =!= "n1" && TARGET.Machine =!= "n2"
    queue 3
`

	got, err := Find("htcondor").Describe(Array{
		Settings: Settings{Mem: "1G", CPUs: 2, Extra: []string{`+Project = "x"`}}, Parts: 3,
		Avoid: []string{"n1", "n2"},
	}, "/a 'b'/dt.sh")
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// A description has one condition on the node, after the user's: condor_submit takes the last. Expected: the user's
// last condition and the nodes to avoid, joined by && of ClassAds; "" without nodes to avoid.
func TestRequirements(t *testing.T) {
	const avoid = `TARGET.Machine =!= "n1"`
	for _, c := range []struct {
		extra []string
		nodes []string
		want  string
	}{
		{nil, nil, ""},
		{[]string{"requirements = HasAVX2"}, nil, ""},
		{nil, []string{"n1"}, avoid},
		{[]string{"requirements = HasAVX2 || HasAVX"}, []string{"n1"}, "(HasAVX2 || HasAVX) && " + avoid},
		{[]string{"Requirements=HasAVX2 "}, []string{"n1"}, "(HasAVX2) && " + avoid},
		{[]string{"requirements = A", "rank = Memory", "REQUIREMENTS = B"}, []string{"n1"}, "(B) && " + avoid},
		{[]string{"requirements =", `+Requirements_x = "y"`}, []string{"n1"}, avoid},
	} {
		array := Array{Settings: Settings{Extra: c.extra}, Parts: 1, Avoid: c.nodes}
		assert.Equal(t, c.want, array.Requirements(), "%q", c.extra)

		text, err := Find("htcondor").Describe(array, "/dt.sh")
		require.NoError(t, err)

		lines := strings.Split(strings.TrimSpace(text), "\n")
		if c.want != "" {
			assert.Equal(t, "requirements = "+c.want, strings.TrimSpace(lines[len(lines)-2]), "the line before queue")
		}
	}
}

// A shell runs the script of part 2 as each scheduler would. The part works in its own folder, quoted words of the
// setup stay together, and the log has what is printed. A part whose folder is gone succeeds, because it was withdrawn.
// A part that does not see the work directory fails, after the given seconds.
func TestScript(t *testing.T) {
	tested := 0
	for _, s := range schedulers {
		if s.line == nil { // Kubernetes has no executor
			continue
		}

		tested++
		t.Run(s.Name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "it's a folder")
			part := filepath.Join(dir, "dt-x-2")
			require.NoError(t, os.MkdirAll(part, 0o755))

			array := Array{
				Settings: Settings{Setup: []string{`echo "a  b" "it's"`, "cd /"}}, Name: "dt-x", Parts: 2, Dir: dir,
				Words: []string{"/bin/echo", "x y"},
			}

			script, err := s.Script(array, 0)
			require.NoError(t, err)

			// HTCondor passes the number of the part, from 0, as an argument. The others set a variable.
			run := func() error {
				cmd := exec.Command("/bin/bash", "-c", script, "script", "1")
				for _, name := range []string{"PBS_ARRAY_INDEX", "SGE_TASK_ID", "SLURM_ARRAY_TASK_ID"} {
					cmd.Env = append(cmd.Env, name+"=2")
				}

				return cmd.Run()
			}

			require.NoError(t, run())
			assert.Equal(t, []string{"a  b it's", "x y"}, readLines(t, filepath.Join(part, "log")))

			require.NoError(t, os.RemoveAll(part))
			require.NoError(t, run(), "a part that is withdrawn")

			require.NoError(t, os.RemoveAll(dir))
			require.Error(t, run(), "a part that sees no work directory")

			script, err = s.Script(array, 300)
			require.NoError(t, err)
			assert.Contains(t, script, "|| { sleep 300; exit 1; }")
		})
	}

	assert.Equal(t, 4, tested, "pbs, sge, htcondor and slurm")
}

// The listings of Slurm 22.05 and Grid Engine 8.1.9 are what their programs printed. The listing of PBS is from the PBS
// Professional User's Guide 2021.1, section 10.1 and "Viewing Status of Job Arrays". The listing of HTCondor follows
// its manual 23.0: condor_q -autoformat, and JobStatus 1 for idle and 2 for running.
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
		assert.Equal(t, c.want, Find(name).Read(c.queue), name)
	}
}

// A number that no part can have, in the listing of another program perhaps, is read at once. It counts as the greatest
// number that a part can have, 1<<20.
func TestReadHugeNumbers(t *testing.T) {
	huge := "9223372036854775807" // the greatest int64
	for name, line := range map[string]string{
		"slurm": "12 " + huge + " RUNNING n1\n", "htcondor": "12 " + huge + " 2 slot1@n1\n",
	} {
		want := map[Part]State{{"12", 1 << 20}: {Running: true, Node: "n1"}}
		assert.Equal(t, want, Find(name).Read(line), name)
	}

	sge := "      5 0.5 dt-x       root         qw    11/26/2026 05:00:01           1 " + huge + "0-3:1\n"
	assert.Equal(t, map[Part]State{{"5", 1 << 20}: {}}, Find("sge").Read(sge))
}

// ExampleWorkflow_Write writes an array of two parts for Grid Engine, and prints the command that submits it.
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
