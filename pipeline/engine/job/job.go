// Package job holds what a job of a cluster asks for, with the limits of each setting, and the
// schedulers as data: the words that submit, cancel, list, and state why jobs wait. The configuration
// checks its values here; the executor and pipeline tasks make submissions of them. It starts nothing.
package job

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Settings are what the jobs of a scheduler ask for; "" and 0 leave it to the cluster.
type Settings struct {
	// partition or queue of the jobs; empty: the cluster's default, as with every key here
	Partition string `key:"partition"`

	// account that is charged
	Account string `key:"account"`

	// quality of service, of Slurm
	QOS string `key:"qos"`

	// time limit of a job: minutes, hours:minutes:seconds or days-hours:minutes
	Time string `key:"time"`

	// memory of a job: 500M, 2G
	Mem string `key:"mem"`

	// processors of a job; 0: the cluster's default
	CPUs int `key:"cpus"`

	// commands before the program, each one command with its words and nothing for a shell to interpret:
	// module load gcc/12, source /opt/env.sh
	Setup []string `key:"setup"`

	// further options of the submission: --constraint=avx2 of sbatch, -l gpu=1 of qsub, requirements = HasAVX2 in
	// the description of HTCondor's jobs
	Extra []string `key:"extra"`

	// jobs that wait or run at a time; 0: as many as executor.parts
	MaxRunning int `key:"max_running"`
}

// Limits of the settings.
const (
	maxCPUs    = 1 << 16
	maxRunning = 1 << 20
)

// Over returns the settings that hold for some jobs: those of s for which has reports that the key is
// given, else those of all jobs.
func (s Settings) Over(all Settings, has func(key string) bool) Settings {
	of, is := reflect.ValueOf(&all).Elem(), reflect.ValueOf(s)
	for i := range of.NumField() {
		if has(of.Type().Field(i).Tag.Get("key")) {
			of.Field(i).Set(is.Field(i))
		}
	}

	return all
}

// Check calls fail for each setting that no job of the scheduler can ask for, with the setting's name in
// the configuration and a text "expected …, found …". Without a name the settings may be for any scheduler.
func (s Settings) Check(scheduler string, fail func(setting, text string)) {
	for _, v := range []struct{ name, value string }{{"partition", s.Partition}, {"account", s.Account}, {"qos", s.QOS}} {
		if strings.ContainsFunc(v.value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			fail(v.name, fmt.Sprintf("expected a name without spaces, found %q", v.value))
		}
	}

	if s.QOS != "" && scheduler != "" && scheduler != "slurm" {
		fail("qos", fmt.Sprintf("only Slurm has it, found %q; name a queue with partition", s.QOS))
	}

	timeForm := `^(\d+(:\d+(:\d+)?)?|\d+-\d+(:\d+(:\d+)?)?|UNLIMITED|INFINITE)$`
	if s.Time != "" && !regexp.MustCompile(timeForm).MatchString(s.Time) {
		fail("time", fmt.Sprintf("expected a time as sbatch takes it (90, 1:30:00, 2-12:00), found %q", s.Time))
	}

	if s.Mem != "" && !regexp.MustCompile(`^\d+[KMGTkmgt]?$`).MatchString(s.Mem) {
		fail("mem", fmt.Sprintf("expected an amount of memory (500M, 2G), found %q", s.Mem))
	}

	if s.CPUs < 0 || s.CPUs > maxCPUs {
		fail("cpus", fmt.Sprintf("expected 1 to %d processors, or 0 for the cluster's default, found %d", maxCPUs, s.CPUs))
	}

	if s.MaxRunning < 0 || s.MaxRunning > maxRunning {
		fail("max_running", fmt.Sprintf("expected 0 to %d jobs, found %d", maxRunning, s.MaxRunning))
	}

	for _, c := range s.Setup {
		if _, err := Words(c); err != nil {
			fail("setup", err.Error())
		}
	}

	for _, o := range s.Extra {
		if err := checkExtra(scheduler, o); err != nil {
			fail("extra", err.Error())
		}
	}
}

// Words splits a command, such as one of Settings.Setup. Spaces separate words, quotes ('…'
// verbatim, "…" with \" and \\) keep a word together, and \ takes the next
// character as it is. Characters that only a shell interprets ($, `, ;, |, &, <,
// >, parentheses, *, ?, [, #, ~, line ends outside quotes) are an error: such
// commands belong in a script that is named here.
func Words(command string) (words []string, err error) {
	if strings.ContainsRune(command, 0) {
		return nil, fmt.Errorf("%q holds a zero byte", command)
	}

	within := false // a word
	for rest := command; rest != ""; {
		m := piece.FindStringSubmatch(rest)
		if m == nil {
			return nil, noWords(command, rest)
		}

		rest = rest[len(m[0]):]
		if blank := m[1] != ""; blank || !within {
			if within = !blank; blank {
				continue
			}

			words = append(words, "")
		}

		words[len(words)-1] += m[2] + unescaped.Replace(m[3]) + m[4] + m[5]
	}

	if len(words) == 0 {
		return nil, fmt.Errorf("%q is no command", command)
	}

	return words, nil
}

// piece begins a command: blanks, '…', "…", an escaped character, or other characters.
var piece = regexp.MustCompile("^(?:([ \t]+)|'([^']*)'|\"((?:[^\"$`\\\\]|\\\\[^$`])*)\"|" +
	"\\\\([^\n])|([^ \t'\"\\\\$`;|&<>()*?\\[#~\n\r{}!]+))")

var unescaped = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// noWords is the error of a command that goes on with what is no piece.
func noWords(command, rest string) error {
	quoted, double := strings.CutPrefix(rest, `"`)
	shell := strings.IndexAny(quoted, "$`")
	switch {
	case double && shell >= 0:
		return fmt.Errorf("%q is more than a command and its words: %q is not replaced here; "+
			"write it in '…' if it is meant literally, or put it into a script and name that: source setup.sh", command,
			quoted[shell])
	case double || rest[0] == '\'':
		return fmt.Errorf("%q has a quote that does not end", command)
	case rest[0] == '\\':
		return fmt.Errorf("%q ends with a backslash", command)
	}

	return fmt.Errorf("%q is more than a command and its words: found %q; put it into a script and name that: "+
		"source setup.sh", command, rest[0])
}

// kibibytes reads an amount of memory as sbatch does; false where there is none.
func kibibytes(mem string) (float64, bool) {
	digits := strings.TrimRight(mem, "KMGTkmgt")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, false
	}

	unit := cmp.Or(strings.ToUpper(mem[len(digits):]), "M")

	return x * map[string]float64{"K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}[unit], true
}

// Quote quotes a word for a shell.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// extras are the forms of options in Settings.Extra, and the options that the program itself sets.
var extras = []struct {
	of, like, form, own string
}{
	{
		"slurm", "--constraint=avx2", `^--([a-z][a-z-]*)(=[^'"\n]*)?$`,
		"array job-name output error input chdir parsable wait wrap test-only requeue no-requeue open-mode dependency " +
			"export export-file help usage version hold quiet kill-on-invalid-dep clusters ntasks",
	},
	{
		"sge pbs", "-l gpu=1", `^-([A-Za-z][a-z_]*)( .+)?$`,
		"J N S V cwd e h hold_jid i j o sync t terse wd z",
	},
	{
		"htcondor", "requirements = HasAVX2", `^\+?([A-Za-z_]+) *=.+$`,
		"arguments error executable getenv initialdir log output queue should_transfer_files universe",
	},
}

// checkExtra reports why an option cannot be a Settings.Extra: it does not have the form of the
// scheduler's options, or the program sets it.
func checkExtra(scheduler, option string) error {
	like := "one"
	for _, x := range extras {
		if scheduler != "" && !slices.Contains(strings.Fields(x.of), scheduler) {
			continue
		}

		like = x.like
		m := regexp.MustCompile(x.form).FindStringSubmatch(option)
		if m == nil {
			continue
		}

		for _, own := range strings.Fields(x.own) {
			// sbatch takes any beginning of an option's name that is not ambiguous.
			if own == m[1] || x.of == "slurm" && len(m[1]) > 2 && strings.HasPrefix(own, m[1]) {
				return fmt.Errorf("%s is set by the program itself", option)
			}
		}

		if x.of == "sge pbs" {
			_, err := Words(option)
			return err
		}

		return nil
	}

	return fmt.Errorf("expected an option of the submission with its value, like %s, found %q", like, option)
}
