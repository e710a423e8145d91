package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
)

// cases has the commands for each small input on which the program went wrong once, with patterns that their output
// should match. A pattern that begins with ! should not match. The expectations are the ones that make.py of the shared
// cases prints.
var cases = map[string][]step{
	"only-names": {works("run p.yaml", `no split is trained`, `!panic`)},
	"empty-cell": {fails("check p.yaml", `log\.csv: line 4, column 2 \(rpm\).*empty cell.*r3`)},
	"sign-after-word": {
		works("init .", `input: alpha_deg`),
		works("run --to ingest"),
		works("inspect runs/sign-after-word/recordings.arrow", `alpha_deg +float64 +deg +0 +5 +-10 +10`),
	},
	"sign-hyphen": {
		works("init ."),
		works("run --to ingest"),
		works("inspect runs/sign-hyphen/recordings.arrow", `alpha_deg +float64 +deg +0 +3 +-4 +4`),
	},
	"own-table":          {works("check p.yaml", `valid: 1 experiment`, `!conditions\.csv`)},
	"title-above-header": {works("inspect x.csv", `t \(time\) +s +10 `, `Fx +N +10 `, `Fz +N +10 `)},
	"trailing-commas":    {works("inspect x.csv", `1 +t \(time\)`, `2 +Voltage`, `!\n3 +`)},
	"uneven-row":         {fails("inspect x.csv", `x\.csv: line 22, .*expected 5 columns, found 6`)},
	"sentinel": {
		works("inspect a4_r1.txt", `channel drag: 2 of 200 samples are -9999`),
		works("run p.yaml", `a4_r1\.txt \(missing code\)`, `drag.*-9999`),
	},
	"nuisance-columns": {works("init .",
		`input: Alpha\n`, `remark \(.*\): rpm`, `remark \(.*\): Rho`, `outcome: CL, CD`, `rows at equal Alpha are repeats`,
	)},
	"lfs-pointer":         {fails("inspect x.wav", `a Git LFS pointer, not the file \(.*git lfs pull\)`)},
	"dashes-under-header": {works("inspect polar.txt", `1 +alpha `, `2 +CL `)},
	"brackets":            {works("check p.yaml", `take \[x\]\.csv: left out by exclude`, `valid`)},
	"constant-outcome":    {works("run p.yaml", `drag_n is 0 in all 36 pairs`, `lift_n +0\.`)},
	"time-names": {
		works("inspect timestamp_us.csv", ` 1000 +200 `),
		works("inspect time_ms.csv", ` 1000 +200 `),
		works("inspect millis.csv", ` 1000 +200 `),
		works("inspect t_ms.csv", ` 1000 +200 `),
	},
	"degree-sign": {
		works("run --to ingest p.yaml"),
		works("inspect runs/e/recordings.arrow", `alpha_deg +float64 +deg +0 +4 +5 +8`),
	},
	"thousands-comma": {fails("check p.yaml", `"1,200", which is 1\.2 or 1200.*decimal: comma`)},
	"judge-units":     {works("judge --against pairs.csv pred.csv", `Error 0\.036 N`)},
	"judge-twice":     {fails("judge --against pairs.csv pred.csv", `expected one column y, found two`)},
	"one-wing":        {works("run p.yaml", `wing=A cl .* 0\.[2-9]\d? +\d+ % +100 %`, `wing=B cl .* 0\.[2-9]\d? `)},
	"days": {
		fails("check p.yaml", `none among 216 rows.*pairs: \{across: Day\}`),
		works("run across.yaml", ` 216 triplets`, `Day = Wed held out`),
		works("report across.yaml --tables", `All repeats: variance of .*between 3 of Day`),
	},
	"zero-is-a-value": {
		works("run --to dsp e0.yaml"),
		works("inspect runs_0/drone/triplets.arrow", `bpf1_db_bound_1 .* false, false, false`),
		works("run --to dsp e6.yaml"),
		works("inspect runs_6/drone/triplets.arrow", `bpf1_db_bound_1 .* true, true, true`),
	},
	"run-column": {works("run p.yaml", `24 runs, 96 triplets`, `\(rotor = 3 held out, 6 runs\)`, `!no channel`)},
}

// step is a command in the folder of a case.
type step struct {
	command string
	fails   bool     // its exit status should not be 0
	says    []string // patterns of its output
}

// works returns a command that should succeed.
func works(command string, says ...string) step {
	return step{command: command, fails: false, says: says}
}

// fails returns a command that should fail.
func fails(command string, says ...string) step {
	return step{command: command, fails: true, says: says}
}

// The program gives the expected output for every case that make.py makes. The cases are outside the repository, and
// the test is skipped without them.
func TestCases(t *testing.T) {
	longtest.Skip(t, "runs the program 35 times")

	maker := filepath.Join("..", "..", "..", "shared", "cases", "make.py")
	if _, err := os.Stat(maker); err != nil {
		t.Skip("the shared cases are not here")
	}

	dir := t.TempDir()
	if out, err := exec.Command("/usr/bin/python3", maker, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, d := range made {
		assert.NotEmpty(t, cases[d.Name()], "%s has no expectation here", d.Name())
	}

	config := string(testfile.Read(t, filepath.Join(dir, "days", "p.yaml")))
	put(t, filepath.Join(dir, "days"), "across.yaml", regexp.MustCompile(`pairs: repeat-run`).
		ReplaceAllString(config, "pairs: {across: Day}"))

	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			for _, s := range steps {
				out, err := command(filepath.Join(dir, name), strings.Fields(s.command)...).CombinedOutput()
				assert.Equal(t, s.fails, err != nil, "%s fails: %v\n%s", s.command, err, out)

				for _, p := range s.says {
					pattern, isAbsent := strings.CutPrefix(p, "!")
					if isAbsent {
						assert.NotRegexp(t, pattern, string(out), s.command)
					} else {
						assert.Regexp(t, pattern, string(out), s.command)
					}
				}
			}
		})
	}
}

// The rule of every case is in the tests of its package too, in a row or test that names the case.
func TestCasesInPackages(t *testing.T) {
	named := map[string]bool{}
	goFiles(t, func(_ string, content []byte) {
		for _, m := range regexp.MustCompile(`// .*\bcase ([a-z-]+)`).FindAllSubmatch(content, -1) {
			named[string(m[1])] = true
		}
	})

	for name := range cases {
		assert.True(t, named[name], "a comment in a test of a package names case %s", name)
	}
}
