// Package job holds what a job of a Slurm cluster asks for, with the limits of
// each setting. The configuration checks its values here and the executor makes
// batch scripts and arguments of sbatch from them. It starts nothing.
package job

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Settings are what a job asks for; "" and 0 leave it to the cluster.
type Settings struct {
	Partition, Account, QOS string
	Time                    string   // limit, as sbatch --time takes it
	Mem                     string   // per node, as sbatch --mem takes it: 2G
	CPUs                    int      // per task
	Setup                   []string // commands before the program, each one command and its words: "module load gcc"
	Extra                   []string // further options of sbatch: "--constraint=avx512"
}

// Limits of the settings.
const (
	maxCPUs    = 1 << 16
	maxRunning = 1 << 20
	maxRetries = 100
	maxFactor  = 16
)

// Check calls fail for each setting that no job can ask for, with the setting's
// name in the configuration and a text "expected …, found …".
func (s Settings) Check(fail func(setting, text string)) {
	for _, v := range []struct{ name, value string }{{"partition", s.Partition}, {"account", s.Account}, {"qos", s.QOS}} {
		if strings.ContainsFunc(v.value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			fail(v.name, fmt.Sprintf("expected a name without spaces, found %q", v.value))
		}
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

	for _, c := range s.Setup {
		if _, err := Words(c); err != nil {
			fail("setup", err.Error())
		}
	}

	for _, o := range s.Extra {
		if err := CheckExtra(o); err != nil {
			fail("extra", err.Error())
		}
	}
}

// Policy limits the jobs that run at a time and the attempts after a failure.
type Policy struct {
	MaxRunning int     // jobs at a time; 0: as many as the cluster allows
	Retries    int     // how often a task that failed is tried again
	RetryMem   float64 // a task that was killed asks for this many times the memory; 0 or 1: for the same
}

// DefaultPolicy returns two retries with the same memory.
func DefaultPolicy() Policy { return Policy{Retries: 2, RetryMem: 1} }

// Check calls fail for each setting outside of its limits, as Settings.Check does.
func (p Policy) Check(fail func(setting, text string)) {
	if p.MaxRunning < 0 || p.MaxRunning > maxRunning {
		fail("max_running", fmt.Sprintf("expected 0 to %d jobs, found %d", maxRunning, p.MaxRunning))
	}

	if p.Retries < 0 || p.Retries > maxRetries {
		fail("retries", fmt.Sprintf("expected 0 to %d retries, found %d", maxRetries, p.Retries))
	}

	if !(p.RetryMem >= 1 && p.RetryMem <= maxFactor) {
		fail("retry_mem", fmt.Sprintf("expected a factor from 1 to %d, found %g", maxFactor, p.RetryMem))
	}
}

// Words splits a command of Settings.Setup. Spaces separate words, quotes ('…'
// verbatim, "…" with \" and \\) keep a word together, and \ takes the next
// character as it is. Characters that only a shell interprets ($, `, ;, |, &, <,
// >, parentheses, *, ?, [, #, ~, line ends outside quotes) are an error: such
// commands belong in a script that is named here.
func Words(command string) ([]string, error) {
	if strings.ContainsRune(command, 0) {
		return nil, fmt.Errorf("%q holds a zero byte", command)
	}

	var words []string
	var w strings.Builder
	in := false
	quote := rune(0)

	runes := []rune(command)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			} else {
				w.WriteRune(c)
			}

		case quote == '"':
			switch {
			case c == '"':
				quote = 0
			case c == '\\' && i+1 < len(runes) && (runes[i+1] == '"' || runes[i+1] == '\\'):
				i++
				w.WriteRune(runes[i])
			case c == '$' || c == '`':
				return nil, fmt.Errorf("%q is more than a command and its words: %q is not replaced here; "+
					"write it in '…' if it is meant literally, or put it into a script and name that: source setup.sh", command, c)
			default:
				w.WriteRune(c)
			}

		case c == '\'' || c == '"':
			quote, in = c, true

		case c == '\\':
			if i++; i == len(runes) || runes[i] == '\n' {
				return nil, fmt.Errorf("%q ends with a backslash", command)
			}

			w.WriteRune(runes[i])
			in = true

		case c == ' ' || c == '\t':
			if in {
				words = append(words, w.String())
				w.Reset()
				in = false
			}

		case strings.ContainsRune("$`;|&<>()*?[#~\n\r{}!", c):
			return nil, fmt.Errorf("%q is more than a command and its words: found %q; "+
				"put it into a script and name that: source setup.sh", command, c)

		default:
			w.WriteRune(c)
			in = true
		}
	}

	if quote != 0 {
		return nil, fmt.Errorf("%q has a quote that does not end", command)
	}

	if in {
		words = append(words, w.String())
	}

	if len(words) == 0 {
		return nil, fmt.Errorf("%q is no command", command)
	}

	return words, nil
}

// Raise multiplies an amount of memory n times.
func Raise(mem string, by float64, n int) string {
	kib, ok := kibibytes(mem)
	if n == 0 || by <= 1 || !ok {
		return mem
	}

	for range n {
		kib *= by
	}

	return strconv.FormatInt(int64(kib), 10) + "K"
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

// own are the options of sbatch that the executor sets.
var own = []string{
	"array", "job-name", "output", "error", "input", "chdir", "parsable", "wait", "wrap", "test-only", "requeue",
	"no-requeue",
	"open-mode", "dependency", "export", "export-file", "help", "usage", "version", "hold", "quiet", "kill-on-invalid-dep",
	"clusters", "ntasks",
}

// CheckExtra reports why an option of sbatch cannot be a Settings.Extra: it is no
// long option, or the executor sets it.
func CheckExtra(option string) error {
	name, ok := strings.CutPrefix(option, "--")
	name, _, _ = strings.Cut(name, "=")
	if !ok || name == "" || strings.ContainsAny(name, " \t\n'\"") {
		return fmt.Errorf("expected a long option of sbatch with its value, like --constraint=avx512, found %q", option)
	}

	// sbatch takes any beginning of an option's name that is not ambiguous.
	if i := slices.IndexFunc(own, func(o string) bool { return strings.HasPrefix(o, name) && len(name) > 2 }); i >= 0 ||
		slices.Contains(own, name) {
		return fmt.Errorf("%s is set by the program itself", option)
	}

	return nil
}
