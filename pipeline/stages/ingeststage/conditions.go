package ingeststage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// stated gathers what configuration, the file next to it, its attributes and its name state of a
// file; info is nil before it is opened.
func (f *File) stated(src *plan.Source, info *ingest.Info) ([]condition.Condition, error) {
	all := lists.Each(src.In.Constants, func(c config.NamedNumber) condition.Condition {
		return condition.Condition{Column: c.Name, Value: c.Value, Origin: condition.Configured}
	})
	all = append(all, f.Sidecar...)
	for _, a := range src.In.Attributes {
		if info == nil || strings.HasPrefix(a.Value, "@") {
			continue
		}

		c, err := src.Roles.Attribute(*info, a.Value, a.Name, "the attribute "+a.Value)
		if err != nil {
			return nil, fmt.Errorf("condition %s: %w", a.Name, err)
		}

		all = append(all, c)
	}

	return append(all, f.Named...), nil
}

// readSidecar reads what is wanted of the file next to a recording, by the names it has there; of the first, where
// nothing is named, the numbers, things and occasions at its top, which the others must have too.
func (r *Recordings) readSidecar(exp plan.Experiment, f *File) {
	if r.In.Sidecar == nil {
		return
	}

	name := strings.TrimSuffix(f.Name, path.Ext(f.Name)) + r.In.Sidecar.Ending
	fail := func(want, found, hint string) { fault.Raise(fault.At(name, "", want, found, hint)) }

	all, err := config.ReadValues(exp.File.Resolve(filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		fail("a file with the conditions of "+f.Name, "none",
			"write it, leave the recording out with exclude, or change sidecar.ending")
	} else if err != nil {
		fault.Raise(&fault.Error{Path: name, Err: fmt.Errorf("read conditions: %w", err)})
	}

	declared := r.Roles.Declared()
	states := func(v config.Value, column string) bool {
		return v.Number == v.Number || slices.Contains(declared, column) || column == r.Roles.Run
	}
	if len(r.sidecar) == 0 {
		for _, v := range all {
			if states(v, v.Name) && !strings.Contains(v.Name, ".") {
				r.sidecar = append(r.sidecar, config.NamedString{Name: v.Name, Value: v.Name})
			}
		}

		if len(r.sidecar) == 0 {
			fail("numbers at its top", "none", "name those that are meant with sidecar: {values: …}")
		}
	}

	for _, w := range r.sidecar {
		have := lists.Keep(all, func(v config.Value) bool { return states(v, w.Name) })
		names := lists.Each(have, func(v config.Value) string { return v.Name })
		k := slices.Index(names, w.Value)
		if k < 0 {
			fail(fmt.Sprintf("a number %q", w.Value), strings.Join(names, ", "),
				cmp.Or(strings.TrimPrefix(spelling.DidYouMean(w.Value, names), "; "), "write a plain number, like 2.5"))
		}

		c := condition.Condition{Column: w.Name, Value: have[k].Number, Origin: "the file next to it"}
		if c.IsName = slices.Contains(declared, w.Name) || c.Value != c.Value; c.IsName {
			c.Value, c.Name = 0, have[k].Text
			if bad := condition.CheckName(c.Name); bad != nil {
				fail(bad.Want, bad.Found+" of "+w.Value, "")
			}
		}

		f.Sidecar = append(f.Sidecar, c)
	}
}

// maxConditionTable bounds a table of conditions in a file.
const maxConditionTable = 1 << 20

// conditionTable makes a table of conditions of arrays of the file: a row for each channel used. The grouping
// returned leaves these arrays out.
func (r *reader) conditionTable(ctx context.Context) (*campaign.Conditions, campaign.Grouping) {
	path := r.info.Path
	t, group := &campaign.Conditions{Path: path}, r.src.Grouping
	var columns [][]float64
	for _, e := range r.src.In.InFile {
		v, unit := r.conditionValues(ctx, e, &group)
		t.Names, columns = append(t.Names, e.Name), append(columns, v)
		campaign.Convert(path, e.Name, e.Name, unit, byName(r.src.In.Units), v)
	}

	recordings := WholeFile(r.info, group).Recordings
	for i, rec := range recordings {
		row := campaign.ConditionRow{Line: i + 1, File: path, End: math.Inf(1)}
		if !group.Together {
			row.Channel = strconv.Itoa(rec.Channels[0] + 1)
		}

		for k, v := range columns {
			e := r.src.In.InFile[k]
			fault.Unless(len(v) == len(recordings), fault.At(path, "array "+e.Value,
				fmt.Sprintf("a value for each of the %d recordings", len(recordings)), fmt.Sprintf("%d values", len(v)), ""))
			row.States = append(row.States, condition.Condition{
				Column: e.Name, Value: v[i], Origin: fmt.Sprintf("%s, line %d", path, row.Line),
			})
		}

		t.Rows = append(t.Rows, row)
	}

	return t, group
}

// WholeFile is the run of an open file without conditions.
func WholeFile(info ingest.Info, group campaign.Grouping) ingest.Run {
	group.Own = nil
	runs, _, err := campaign.Assemble(info, nil, nil, group)
	fault.Raise(err)

	return runs[0]
}

// conditionValues reads the array, or the attribute, with the values of a
// condition, and the array's unit. It notes in group that the array is no recording.
func (r *reader) conditionValues(ctx context.Context, e config.NamedString, group *campaign.Grouping) (v []float64,
	unit string,
) {
	info := r.info
	k, err := ingest.FindChannel(info, e.Value)
	if err != nil {
		one, again := condition.Roles{}.Attribute(info, e.Value, e.Name, "") // a table of one row
		fault.Unless(again == nil, fmt.Errorf("condition %s: %w", e.Name, err))

		return []float64{one.Value}, ""
	}

	ch := info.Channels[k]
	fault.Unless(ch.Samples <= maxConditionTable, fault.At(info.Path, "array "+e.Value, "a table of conditions",
		fmt.Sprintf("%d values", ch.Samples), ""))

	v = fault.Get(ReadColumns(ctx, r.rd, []int{k}, 0, ch.Samples))[0]
	group.Except = append(slices.Clone(group.Except), ch.Name)
	if i := slices.IndexFunc(v, func(x float64) bool { return x-x != 0 }); i >= 0 {
		place := fmt.Sprintf("array %s, value %d", e.Value, i+1)
		fault.Raise(fault.At(info.Path, place, "a finite number", fmt.Sprint(v[i]), ""))
	}

	return v, ch.Unit
}

// Rows lists the conditions of recordings, as far as they are known before any is read, or of the rows of a table,
// which is read for it, or raises an error; those of the simulated toy are made.
func (r *Result) Rows() condition.Rows {
	switch {
	case r.Pairs == nil:
		return r.Known
	case r.Pairs.Toy == nil:
		return rowsOf(readTables(r.Pairs.Files, r.Pairs.Options))
	}

	return lists.Each(r.Pairs.Toy.Inputs(), func(x float64) condition.Values {
		return condition.Values{Numbers: map[string]float64{"x": x}}
	})
}

// rowsOf lists the different conditions of pairs.
func rowsOf(p *campaign.PairTable) condition.Rows {
	x := func(i int) []float64 { return lists.Each(p.X, func(c []float64) float64 { return c[i] }) }
	names := func(i int) []string { return lists.Each(p.Texts, func(c []string) string { return c[i] }) }
	keys := lists.Make(p.N, func(i int) string { return fmt.Sprintf("%v %q", x(i), names(i)) })

	return lists.Each(lists.Alike(keys), func(alike []int) condition.Values {
		i := alike[0]
		return condition.Values{Numbers: lists.Map(p.Inputs, x(i)), Names: lists.Map(p.Labels, names(i))}
	})
}

// Values lists the distinct values of a condition, ascending, as far as they are known before any recording is read, or
// raises an error.
func (r *Result) Values(condition string) []float64 {
	if points, ok := r.Points[condition]; ok {
		return points.Nominals()
	}

	v, _ := r.Rows().Floats(condition) // else only the files tell

	return holdout.Distinct(v)
}

// atSetPoints finds the set points in what is known and in the names of files that are near to it, and moves Known to
// them.
func (r *Result) atSetPoints() {
	var named []condition.Condition
	if r.Recordings != nil {
		named = slices.Concat(lists.Each(r.Recordings.Files, func(f File) []condition.Condition { return f.Named })...)
	}

	r.Points = plan.Points{}
	for name, tolerance := range plan.Tolerances(r.Within) {
		v := r.Values(name)
		if len(v) == 0 {
			continue // only the files tell
		}

		near := func(c condition.Condition) bool {
			return c.Column == name && slices.ContainsFunc(v, func(x float64) bool { return tolerance.Equal(x, c.Value) })
		}
		of := lists.Each(lists.Keep(named, near), func(c condition.Condition) float64 { return c.Value })
		points := condition.SetPointsOf(append(v, of...), tolerance)
		for _, c := range r.Known {
			if v, known := c.Numbers[name]; known {
				c.Numbers[name] = points.At(v)
			}
		}

		r.Points[name] = points
	}
}

// Names lists the distinct names of a label, sorted, as Values does.
func (r *Result) Names(label string) []string {
	names, _ := r.Rows().Strings(label)
	return holdout.Distinct(names)
}

// PairsPerRow returns how many pairs each entry of Known gives at most; 0 where
// only the files tell.
func (r *Result) PairsPerRow() int {
	switch c := r.Construction.(type) {
	case dsp.PerRun:
		return c.PairsPerRun(&r.Recordings.DSP.Settings)

	case dsp.OfSpectra:
		ofAll := func(r campaign.ConditionRow) bool { return r.Channel == "" }
		several := func(f File) bool { return f.Rows == nil || slices.ContainsFunc(f.Rows.Rows, ofAll) }
		if !c.Describe().Repeats && !slices.ContainsFunc(r.Recordings.Files, several) {
			return 1 // every row is one microphone's
		}
	}

	return 0
}

// Guesses while planning: microphones of a run, rows of a table of pairs.
const typicalMicrophones, typicalRows = 12, 1000

// Size estimates the conditions and the pairs that an experiment will have.
func (r *Result) Size() (conditions, pairs float64) {
	if r.Construction == nil {
		return typicalRows, typicalRows
	}

	conditions = float64(max(len(r.Known), 1))
	if _, ok := r.Construction.(dsp.OfSpectra); ok && len(r.Known) <= len(r.Recordings.Files) { // not of single channels
		conditions *= typicalMicrophones
	}

	return conditions, conditions * float64(max(r.PairsPerRow(), 1))
}

// pairKind returns the kind of an experiment's pairs: same-run, repeat-run or
// synthetic (docs/method.md#units-of-data). c is nil for pairs of a table.
func pairKind(e plan.Experiment, c dsp.Construction) string {
	switch {
	case e.Ingest.Table != nil:
		return e.Ingest.Table.Pairs
	case c == nil:
		return "synthetic"
	case c.Describe().Repeats:
		return "repeat-run"
	}

	return "same-run"
}

// byName makes a map of a list of the configuration.
func byName(list []config.NamedString) map[string]string {
	out := map[string]string{}
	for _, v := range list {
		out[v.Name] = v.Value
	}

	return out
}

// checkUnits checks the units of the configuration and keeps the conversions of
// conditions that no table holds: those of names, attributes, sidecars and
// constants. Tables are converted when they are read.
func checkUnits(exp plan.Experiment, src *plan.Source) {
	columns := lists.Each(src.In.Columns, func(c config.NamedString) string { return c.Name })
	known := slices.Concat(src.Conditions, columns)

	for _, u := range src.In.Units {
		exp.OneOf(known, u.Name, "ingest.units."+u.Name, "is neither a column nor a condition of this experiment, which has")
	}

	convert(exp, src, "ingest.units.", src.In.Units, without(src.Conditions, func(name string) bool {
		_, inFile := config.Find(src.In.InFile, name)
		return inFile || src.Table != nil && slices.Contains(src.Table.Names, name)
	}))
}

// convert keeps the conversions of conditions by the units of the configuration, which it checks.
func convert(exp plan.Experiment, src *plan.Source, key string, list []config.NamedString, conditions []string) {
	src.Convert = map[string]units.Named{}
	for _, u := range list {
		n, err := units.ToName(u.Name, u.Value)
		exp.Refuse(err != nil, key+u.Name, "%v", err)
		if n.From != "" && slices.Contains(conditions, u.Name) {
			src.Convert[u.Name], src.Converted[u.Name] = n, n.String()
		}
	}
}

// settle turns conditions as the data state them into those of the tables: in the
// units of their names, the microphone's angle from the rotor plane where the data count it
// from the axis, with what is derived of them.
func settle(src *plan.Source, conditions map[string]float64, labels map[string]string) error {
	for name, n := range src.Convert {
		if v, ok := conditions[name]; ok {
			conditions[name] = n.Apply(v)
		}
	}

	if v, ok := conditions["theta_deg"]; ok && src.In.ThetaFrom == "axis" {
		conditions["theta_deg"] = 90 - v
	}

	return src.Derive.AddConditions(conditions, labels)
}

// ConvertSeries turns the samples of a column into values in the unit that the
// outcome's name states, or raises an error. The samples given are not changed.
func ConvertSeries(path, column, name, stated string, v []float64) ([]float64, units.Named) {
	n, err := units.ToName(name, stated)
	if err != nil {
		hint := fmt.Sprintf("state the unit with units: {%s: …}", name)
		fault.Raise(&fault.Error{Path: path, Place: "column " + column, Err: err, Hint: hint})
	}

	if n.From != "" {
		v = slices.Clone(v)
		n.Convert(v)
	}

	return v, n
}

// soundUnit is the factor from a microphone's unit to Pa or V, where it is another
// unit of pressure or voltage: mPa, psi, mV.
func soundUnit(stated string) (factor float64, unit, how string) {
	for _, name := range []string{"p_pa", "p_v"} {
		if n, err := units.ToName(name, stated); err == nil && n.From != "" {
			return n.Scale, n.Unit, n.String()
		}
	}

	return 1, stated, ""
}

// excludedBy are the exclusions by conditions, with the tolerances of set points.
func excludedBy(exp plan.Experiment) config.Exclusions {
	list, within := exp.Ingest.Exclude.Where(), plan.Tolerances(exp.Ingest.Within)
	for i := range list {
		list[i].Where = holdout.About(list[i].Where, func(c string, a, b float64) bool { return within[c].Equal(a, b) })
	}

	return list
}

// exclude leaves out the rows of the table of conditions, and the files without any other, whose conditions the
// configuration excludes.
func (r *Recordings) exclude(exp plan.Experiment) {
	list := excludedBy(exp)
	if len(list) == 0 {
		return
	}

	var columns, labels []string
	left := make([][]string, len(list))
	for i := range r.Files {
		f := &r.Files[i]
		kept := lists.Where(len(f.known), func(k int) bool {
			name := f.Name
			if len(f.known) > 1 {
				name = fmt.Sprintf("%s (line %d)", f.Name, f.Rows.Rows[k].Line)
			}

			columns = slices.AppendSeq(columns, maps.Keys(f.known[k].Numbers))
			labels = slices.AppendSeq(labels, maps.Keys(f.known[k].Names))
			x := slices.IndexFunc(list, func(x config.Exclusion) bool { return x.Holds(f.known[k]) })
			if x >= 0 {
				left[x] = append(left[x], name)
			}

			return x < 0
		})

		f.known = lists.Rows(f.known, 1, kept)
		if f.Rows != nil {
			f.Rows.Rows = lists.Rows(f.Rows.Rows, 1, kept)
		}
	}

	names := holdout.Distinct(labels)
	all := slices.Concat(holdout.Distinct(columns), names)
	for _, x := range list {
		for _, c := range x.Where.Conditions() {
			exp.OneOf(all, c, "ingest.exclude", "is no condition that is known before the files are opened, which are")
			exp.Refuse(slices.Contains(names, c) && !slices.Contains(x.Where.Labels(), c), "ingest.exclude",
				"%s is a column of text: expected names, found numbers; write a name of digits in quotes", c)
		}
	}

	files := lists.Keep(r.Files, func(f File) bool { return len(f.known) > 0 })
	exp.Refuse(len(files) == 0, "ingest.exclude", "all %s are excluded", fault.Plural(int64(len(r.Files)), "file"))
	r.Files = files
	for i, x := range list {
		w := campaign.UnusedExclude(exp.File.Path, x.String())
		if len(left[i]) > 0 {
			w = leftOut(left[i], fmt.Sprintf("exclude: %s", x))
		}

		r.warnings = append(r.warnings, w)
	}
}

// leftOut names what was left out knowingly, so that the report does not depend on someone reading the
// configuration.
func leftOut(names []string, by string) ingest.Warning {
	w := ingest.Warn(filepath.ToSlash(names[0]), "excluded", "left out by %s", by)
	if len(names) > 1 {
		w.Text += ", also " + campaign.Some(names[1:])
	}

	return w
}
