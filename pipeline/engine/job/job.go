// Package job describes the jobs of clusters: the settings that a job asks for, with their limits, and the schedulers,
// with the words of the commands that submit jobs, cancel them, list them and print why they wait. The configuration
// checks its values here. The executor and the command tasks make submissions of the settings. The package starts no
// program.
package job

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Settings are what the jobs of a scheduler ask for. An empty setting leaves the choice to the cluster.
type Settings struct {
	// partition or queue of the jobs; empty: the cluster's default, as with every key here
	Partition string `key:"partition"`

	// account that is charged
	Account string `key:"account"`

	// quality of service, of Slurm
	QOS string `key:"qos"`

	// time limit of a job: 90 (minutes), 1:30:00 (hours:minutes:seconds) or 2-12:00 (days-hours:minutes)
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

const (
	// maxCPUs is the greatest number of processors of a job.
	maxCPUs = 1 << 16
	// maxRunning is the greatest number of jobs at a time.
	maxRunning = 1 << 20
	// maxSeconds is the longest time limit of a job: ten years.
	maxSeconds = 10 * 366 * 86_400
	// maxKiB is the largest memory of a job, in KiB: a pebibyte.
	maxKiB = 1 << 40
)

// Over returns the settings of some jobs. A setting whose key is given for them, as given reports, is taken from s,
// even if it is empty. The other settings are taken from all, the settings of all jobs.
func (s Settings) Over(all Settings, given func(key string) bool) Settings {
	merged := reflect.ValueOf(&all).Elem()
	specific := reflect.ValueOf(s)
	for i := range merged.NumField() {
		if given(merged.Type().Field(i).Tag.Get("key")) {
			merged.Field(i).Set(specific.Field(i))
		}
	}

	return all
}

var (
	// timeForm matches a time limit in one of the forms of sbatch, all of which Array.Seconds reads: minutes,
	// minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds, or a word for no
	// limit.
	timeForm = regexp.MustCompile(`^(\d+(:\d+(:\d+)?)?|\d+-\d+(:\d+(:\d+)?)?|UNLIMITED|INFINITE)$`)
	// memoryForm matches an amount of memory in a form of sbatch, which kibibytes reads: a whole number and its unit.
	memoryForm = regexp.MustCompile(`^\d+[KMGTkmgt]?$`)
)

// Check calls fail for each setting that no job of the scheduler can ask for, with the setting's key in the
// configuration and a text "expected …, found …". If scheduler is "", Check accepts what any scheduler accepts.
func (s Settings) Check(scheduler string, fail func(setting, text string)) {
	names := []struct{ key, value string }{
		{"partition", s.Partition},
		{"account", s.Account},
		{"qos", s.QOS},
	}
	for _, name := range names {
		if strings.ContainsFunc(name.value, isBlank) {
			fail(name.key, fmt.Sprintf("expected a name without spaces, found %q", name.value))
		}
	}

	if s.QOS != "" && scheduler != "" && scheduler != "slurm" {
		fail("qos", fmt.Sprintf("only Slurm has it, found %q; name a queue with partition", s.QOS))
	}

	s.checkResources(fail)

	for _, command := range s.Setup {
		if _, err := Words(command); err != nil {
			fail("setup", err.Error())
		}
	}

	for _, option := range s.Extra {
		if err := checkExtra(scheduler, option); err != nil {
			fail("extra", err.Error())
		}
	}
}

// checkResources calls fail as Check does, for the amounts that a job asks for. Larger amounts are mistakes, and might
// not be whole numbers of a computer.
func (s Settings) checkResources(fail func(setting, text string)) {
	seconds := timeLimit(s.Time)
	switch {
	case s.Time != "" && !timeForm.MatchString(s.Time):
		fail("time", fmt.Sprintf("expected a time as sbatch takes it (90, 1:30:00, 2-12:00), found %q", s.Time))
	case seconds > maxSeconds:
		fail("time", fmt.Sprintf("expected up to ten years, or UNLIMITED, found %q", s.Time))
	}

	switch {
	case s.Mem != "" && !memoryForm.MatchString(s.Mem):
		fail("mem", fmt.Sprintf("expected an amount of memory (500M, 2G), found %q", s.Mem))
	case kibibytes(s.Mem) > maxKiB:
		fail("mem", fmt.Sprintf("expected up to 1024T, found %q", s.Mem))
	}

	if s.CPUs < 0 || s.CPUs > maxCPUs {
		fail("cpus", fmt.Sprintf("expected 1 to %d processors, or 0 for the cluster's default, found %d", maxCPUs, s.CPUs))
	}

	if s.MaxRunning < 0 || s.MaxRunning > maxRunning {
		fail("max_running", fmt.Sprintf("expected 0 to %d jobs, found %d", maxRunning, s.MaxRunning))
	}
}

// isBlank reports whether a character is the space or a control character of ASCII, such as a tab.
func isBlank(r rune) bool { return r <= ' ' || r == 0x7f }

// kibibytes returns an amount of memory in KiB. mem is a number and its unit: K for KiB, M for MiB, G for GiB or T for
// TiB, in either case. A number without a unit is in MiB, as for sbatch. kibibytes returns 0 if mem has no number, as
// the empty setting, and +Inf if the number is too large for a float64.
func kibibytes(mem string) float64 {
	const (
		kibPerMiB = 1 << 10
		kibPerGiB = 1 << 20
		kibPerTiB = 1 << 30
	)

	digits := strings.TrimRight(mem, "KMGTkmgt")
	number, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(number, 1) {
		return 0
	}

	switch strings.ToUpper(mem[len(digits):]) {
	case "K":
		return number
	case "G":
		return number * kibPerGiB
	case "T":
		return number * kibPerTiB
	default: // M, or no unit
		return number * kibPerMiB
	}
}

// optionForm is the form of an option in Settings.Extra.
type optionForm struct {
	schedulers []string       // the schedulers that take such options
	example    string         // an option, for messages
	form       *regexp.Regexp // its first group is the option's name
	reserved   []string       // names of options that the program sets itself
	abbreviate bool           // the scheduler takes any beginning of a name that is not ambiguous
	ignoreCase bool           // the scheduler takes names in upper case too
	isShell    bool           // the option is split into words, as a shell does
}

// optionForms are the forms of options of all schedulers.
var optionForms = []optionForm{
	{
		schedulers: []string{"slurm"},
		example:    "--constraint=avx2",
		form:       regexp.MustCompile(`^--([a-z][a-z-]*)(=[^'"\n]*)?$`),
		reserved: strings.Fields("array job-name output error input chdir parsable wait wrap test-only requeue no-requeue " +
			"open-mode dependency export export-file help usage version hold quiet kill-on-invalid-dep clusters ntasks"),
		abbreviate: true,
	},
	{
		schedulers: []string{"sge", "pbs"},
		example:    "-l gpu=1",
		form:       regexp.MustCompile(`^-([A-Za-z][a-z_]*)( .+)?$`),
		reserved:   strings.Fields("J N S V cwd e h hold_jid i j o sync t terse wd z"),
		isShell:    true,
	},
	{
		schedulers: []string{"htcondor"},
		example:    "requirements = HasAVX2",
		form:       regexp.MustCompile(`^\+?([A-Za-z_]+) *=.+$`),
		reserved: strings.Fields("arguments error executable getenv initialdir log output queue should_transfer_files " +
			"universe"),
		ignoreCase: true,
	},
}

// isReserved reports whether the program sets the option with this name itself.
func (f optionForm) isReserved(name string) bool {
	const shortest = 3 // letters: the scheduler finds shorter abbreviations ambiguous
	if f.ignoreCase {
		name = strings.ToLower(name)
	}

	for _, reserved := range f.reserved {
		isAbbreviation := f.abbreviate && len(name) >= shortest && strings.HasPrefix(reserved, name)
		if name == reserved || isAbbreviation {
			return true
		}
	}

	return false
}

// checkExtra returns an error if an option cannot be in Settings.Extra: it does not have the form of the scheduler's
// options, or the program sets it. If scheduler is "", the option may have the form of any scheduler.
func checkExtra(scheduler, option string) error {
	example := "one"
	for _, form := range optionForms {
		if scheduler != "" && !slices.Contains(form.schedulers, scheduler) {
			continue
		}

		example = form.example
		match := form.form.FindStringSubmatch(option)
		if match == nil {
			continue
		}

		if form.isReserved(match[1]) {
			return fmt.Errorf("%s is set by the program itself", option)
		}

		if form.isShell {
			_, err := Words(option)
			return err
		}

		return nil
	}

	return fmt.Errorf("expected an option of the submission with its value, like %s, found %q", example, option)
}
