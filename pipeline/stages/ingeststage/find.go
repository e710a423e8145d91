package ingeststage

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/simulatestage"
)

// findFiles finds the files that the tasks of stage simulate write, or those of the configuration.
func findFiles(exp plan.Experiment, sim simulatestage.Result) *Recordings {
	columns := plan.Columns{Converted: map[string]string{}}
	r := &Recordings{Source: &plan.Source{In: exp.Ingest, Roles: exp.Roles(), DSP: exp.DSP, Columns: columns}}
	if sim.Campaign == nil {
		r.findMeasured(exp)
		return r
	}

	r.In, r.Simulated = sim.Ingest(exp.Ingest), true
	for _, d := range sim.Files {
		r.Files = append(r.Files, File{RawFile: plan.RawFile{Name: d.Output, Dep: &d}})
	}

	r.Table = fault.Get(sim.Conditions())

	return r
}

// findMeasured finds the raw files of the configuration, without those of the
// background and the tares, and reads the table of conditions and the pattern.
func (r *Recordings) findMeasured(exp plan.Experiment) {
	globs := r.In.Files
	if r.In.Table != nil {
		globs = r.In.Table.File
	}

	all, files, warnings, err := campaign.Find(globs, r.In.Exclude.Files(), exp.File.Dir)
	fault.Raise(err)

	// Tables that the configuration names are no recordings.
	p := r.In.Conditions
	tables := []string{filepath.Clean(p), filepath.Clean(r.In.Microphones)}
	if b := exp.Ingest.Balance; b != nil {
		tables = append(tables, filepath.Clean(b.MatrixFile))
	}

	isTable := func(file string) bool { return slices.Contains(tables, filepath.Clean(file)) }
	all, files = without(all, isTable), without(files, isTable)
	r.warnings = slices.DeleteFunc(warnings, func(w ingest.Warning) bool {
		b := exp.Ingest.Balance
		return isTable(w.Path) || b != nil && b.Tare != nil && filepath.Clean(b.Tare.File) == filepath.Clean(w.Path)
	})
	if s := r.In.Sidecar; s != nil {
		r.sidecar = s.Values
	}

	r.warnExcluded(all, files)
	files = r.withoutBackground(exp, files)

	if p != "" {
		r.Table = fault.Get(campaign.ReadLog(exp.File.Resolve(p), campaign.LogOptions{
			Files: all, Columns: byName(r.In.Log.Columns), Ignore: r.In.Log.Ignore,
			Missing: slices.Concat(r.In.Missing, r.In.Log.Missing),
			Names:   append(exp.Roles().Names(), tareColumns(&r.In)...), Decimal: decimalSigns[r.In.Log.Decimal],
			Units: byName(r.In.Units),
		}))
		r.Converted = r.Table.Converted
	}

	files = r.takeTares(exp, all, files)
	r.callSimulated(files, exp.File.Has(exp.At+".ingest.data"))
	r.Files = lists.Each(files, func(name string) File { return File{RawFile: exp.OnDisk(name)} })
	if p := r.In.Pattern; p != "" {
		r.Pattern, err = campaign.ParsePattern(p)
		exp.Refuse(err != nil, "ingest.pattern", "%v", err)
	}

	r.settleTable(exp, all, files)
	r.joinMicrophones(exp)
}

// chainWords begin names of what makes pascals of samples.
var chainWords = regexp.MustCompile(`(?i)^(?:sens|gain|empfindlichkeit|verstärkung|amplification)`)

// joinMicrophones joins the table of microphones to that of the runs. It is one of conditions whose rows are channels.
func (r *Recordings) joinMicrophones(exp plan.Experiment) {
	r.Chains = map[string][]config.NamedNumber{}
	if c := r.In.Calibration; c != nil {
		r.Chains["gain_db"] = c.ChannelGainDB
	}

	p := r.In.Microphones
	if p == "" {
		return
	}

	t, err := campaign.ReadLog(exp.File.Resolve(p), campaign.LogOptions{
		Columns: map[string]string{"file": "channel"}, Decimal: decimalSigns[r.In.Log.Decimal],
		Names: append(exp.Roles().Names(), "serial", "serial_number", "Seriennummer"), Units: byName(r.In.Units),
	})

	if bad, is := errors.AsType[*fault.Error](err); is && strings.Contains(bad.Want, "log.columns") {
		bad.Want = `a column "channel": the channels of the microphones, by name or number from 1`
	}

	fault.Raise(err)
	chain := []string{"gain_db", "sensitivity_v_per_pa"}
	gaps := fault.Get(t.FillGaps(exp.Mentions, chain))
	for _, name := range t.Names {
		fault.Unless(!chainWords.MatchString(name) || slices.Contains(chain, name), fault.At(p, "column "+name,
			"gain_db or sensitivity_v_per_pa", "another name", "in mV/Pa: sensitivity_v_per_pa [mV/Pa]"))
	}

	var channels []string
	for i, row := range t.Rows {
		fault.Unless(!slices.Contains(channels, row.File), fault.At(p, fmt.Sprintf("line %d", row.Line),
			"a row for each channel", "a second one for "+row.File, "correct the channel, or delete the row"))

		t.Rows[i].Channel, t.Rows[i].File, channels = row.File, "*", append(channels, row.File)
		for _, c := range row.Given() {
			switch {
			case c.IsName:
			case c.Value <= 0 && c.Column == "sensitivity_v_per_pa":
				place := fmt.Sprintf("line %d, column %s", row.Line, c.Column)
				fault.Raise(fault.At(p, place, "a number above 0", fmt.Sprint(c.Value), ""))
			default:
				r.Chains[c.Column] = append(r.Chains[c.Column], config.NamedNumber{Name: row.File, Value: c.Value})
			}
		}
	}

	if len(r.In.Channels) == 0 {
		r.In.Channels, r.listed = channels, true
	}

	r.warnings, r.Table = slices.Concat(r.warnings, t.Warnings, gaps), r.Table.WithChannels(t)
}

// decimalSigns are those of log: {decimal}.
var decimalSigns = map[string]byte{"point": condition.Point, "comma": condition.Comma}

// settleTable drops the rows of the table of conditions that are not used, and settles values that
// it does not state.
func (r *Recordings) settleTable(exp plan.Experiment, all, files []string) {
	if r.Table == nil {
		return
	}

	rows, unused := r.Table.Without(all, files)
	given, _ := r.conditions(nil)
	gaps := fault.Get(rows.FillGaps(exp.Mentions, given))
	r.warnings = append(r.warnings, slices.Concat(rows.Warnings, unused, gaps)...)
	r.Table = rows
}

// without returns the files for which drop does not hold.
func without(files []string, drop func(file string) bool) []string {
	return slices.DeleteFunc(slices.Clone(files), drop)
}

func isEmpty(name string) bool { return name == "" }

// withoutBackground finds the recordings of the background that globs name, and returns the other
// files.
func (r *Recordings) withoutBackground(exp plan.Experiment, files []string) []string {
	if r.In.Background == nil {
		return files
	}

	_, names, _, err := campaign.Find(r.In.Background.Files, r.In.Exclude.Files(), exp.File.Dir)
	fault.Raise(err)
	r.Backgrounds = lists.Each(names, func(name string) plan.RawFile { return exp.OnDisk(name) })

	rest := without(files, func(p string) bool { return slices.Contains(names, p) })
	exp.Refuse(len(rest) == 0, "ingest.background.files", "every recording is one of the background")

	return rest
}

// rows finds each file's rows of the table of conditions, and checks that the pattern matches the files' names.
func (r *Recordings) rows() {
	if r.Table != nil {
		for i, rows := range fault.Get(r.Table.ForFiles(r.names())) {
			r.Files[i].Rows = rows
		}
	}

	for i := range r.Files {
		if r.Pattern != nil {
			r.Files[i].Named = fault.Get(r.Pattern.Match(r.Files[i].Name))
		}
	}
}

// warnExcluded names the files that were left out by their names.
func (r *Recordings) warnExcluded(all, used []string) {
	by := "exclude"
	for _, x := range r.In.Exclude {
		if x.Where == nil && x.Reason != "" {
			by += fmt.Sprintf(" (%s: %s)", x.Files, x.Reason)
		}
	}

	isUsed := func(f string) bool { _, ok := slices.BinarySearch(used, f); return ok }
	if out := without(all, isUsed); len(out) > 0 {
		r.warnings = append(r.warnings, leftOut(out, by))
	}
}

// callsItselfSimulated reports whether a name or a text of a file begins with "simulated".
func callsItselfSimulated(s string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "simulated")
}

// callSimulated makes the experiment a simulated one if a file is named so and the key data is
// not given.
func (r *Recordings) callSimulated(files []string, given bool) {
	i := slices.IndexFunc(files, func(n string) bool { return callsItselfSimulated(path.Base(n)) })
	switch {
	case i < 0 || given && r.In.Data == "simulated":
	case given:
		r.warnings = append(r.warnings, ingest.Warn(files[i], "simulated",
			"is named simulated, but the configuration has data: measured"))
	default:
		r.In.Data = "simulated"
		r.warnings = append(r.warnings, ingest.Warn(files[i], "simulated", "is named simulated: the experiment is called "+
			"simulated; set data: simulated, or data: measured if it was measured"))
	}
}

// simulatedByContent warns of a file of an experiment that is called measured whose attributes or comments say
// "simulated".
func simulatedByContent(src *plan.Source, info ingest.Info) (out []ingest.Warning) {
	a, says := lists.Find(info.Attributes, func(a ingest.Attribute) bool {
		isSet := !strings.EqualFold(a.Value, "false") && a.Value != "0"
		return callsItselfSimulated(a.Name) && isSet || callsItselfSimulated(a.Value)
	})
	if says && src.In.Data != "simulated" {
		out = append(out, ingest.Warn(info.Path, "simulated", "calls itself simulated (%s: %s), but the experiment is "+
			"called measured: set data: simulated", a.Name, a.Value))
	}

	return out
}

// findReader finds the program that reads the files, if the configuration names
// one, and hashes it and the files its arguments name: they are part of the keys of
// the tasks that open a recording. The program is not started here.
func findReader(exp plan.Experiment, src *plan.Source) {
	in := src.In.Reader
	if in == nil {
		return
	}

	program := in.Program[0]
	if strings.ContainsAny(program, `/\`) { // a path that is absolute is not looked up in PATH
		program = fault.Get(filepath.Abs(exp.File.Resolve(program)))
	}

	found, err := exec.LookPath(program)
	exp.Refuse(err != nil, "ingest.reader", "program %s: %v", in.Program[0], errors.Unwrap(err))

	found, dir := fault.Get(filepath.Abs(found)), fault.Get(filepath.Abs(exp.File.Dir))
	src.Options.Program = &ingest.Program{
		Command: append([]string{found}, in.Program[1:]...), Dir: dir,
		Timeout: time.Duration(in.TimeoutS * float64(time.Second)),
	}

	src.Reader = []kv.Pair{{Key: "ingest.reader", Value: "[" + strings.Join(in.Program, ", ") + "]"}}
	if in.Version != "" {
		src.Reader = append(src.Reader, kv.Pair{Key: "ingest.reader.version", Value: in.Version})
	}

	for i, a := range in.Program {
		file := found
		if i > 0 {
			file = exp.File.Resolve(a)
			if _, err := fault.Regular(file); err != nil {
				continue // an option, or the recording's name
			}
		}

		b, err := os.ReadFile(file)
		exp.Refuse(err != nil, "ingest.reader", "hash program: %v", err)

		sum := fmt.Sprintf("%x", sha256.Sum256(b))
		src.Reader = append(src.Reader, kv.Pair{Key: "ingest.reader: sha256 of " + a, Value: sum})
	}
}
