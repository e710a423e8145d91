package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// validate reports what single keys cannot: what is missing, what contradicts,
// what is out of range. Whether conditions, columns and files exist is for the
// stages to say, which know them.
func (f *File) validate(d *decoder) {
	fail := func(key, format string, args ...any) { d.errs = append(d.errs, f.Errorf(key, format, args...)) }
	if f.Version != 1 {
		fail("version", "expected 1, found %d; this program reads version 1", f.Version)
	}
	if f.Workdir == "" {
		fail("workdir", "expected a folder, found nothing")
	}
	if len(f.Experiments) == 0 {
		fail("experiments", "expected at least one experiment, found none")
	}
	f.Executor.Slurm.validate(fail)
	for i := range f.Experiments {
		f.Experiments[i].validate(f, "experiments."+f.Experiments[i].Name, fail)
	}
}

func (e *Experiment) validate(f *File, at string, fail func(key, format string, args ...any)) {
	if e.Name == "" || e.Name == "." || e.Name == ".." || strings.HasPrefix(e.Name, ".") || strings.ContainsAny(e.Name, "/\\\x00\n") {
		fail(at, "expected a name that can be a folder's (no /, no leading dot), found %q", e.Name)
	}
	in, key := &e.Ingest, at+".ingest"
	sources := 0
	for _, has := range []bool{len(in.Files) > 0, in.Simulate != nil, in.Table != nil} {
		if has {
			sources++
		}
	}
	if sources != 1 {
		fail(key, "expected one of files, simulate or table, found %d of them", sources)
	}
	if len(in.Files) > 0 && in.Conditions == "" && in.Pattern == "" && len(in.Constants) == 0 && len(in.Attributes) == 0 && in.Sidecar == nil && len(in.Inside) == 0 {
		fail(key, "expected conditions (a CSV file) or pattern (conditions in the file names), found neither; without conditions there is nothing to learn from")
	}
	if in.Simulate == nil && in.Table == nil && len(in.Files) == 0 {
		return
	}
	if s := in.Simulate; s != nil {
		if f.Has(key + ".data") {
			fail(key+".data", "a simulated campaign is always called simulated; leave the key out")
		}
		in.Data = "simulated"
		allowed := map[string][]string{
			"rotor":   {"rate_hz", "duration_s", "encoding", "blades", "rpm", "theta_deg"},
			"airfoil": {"rate_hz", "duration_s", "alpha_deg", "u_inf_m_s"},
			"toy":     {"triplets", "gamma"},
		}[s.Campaign]
		if s.Campaign == "" {
			fail(key+".simulate", "expected campaign: rotor, airfoil or toy, found none")
		} else {
			for _, k := range []string{"rate_hz", "duration_s", "encoding", "blades", "rpm", "theta_deg", "alpha_deg", "u_inf_m_s", "triplets", "gamma"} {
				if f.Has(key+".simulate."+k) && !slices.Contains(allowed, k) {
					fail(key+".simulate."+k, "does not belong to the %s campaign, which takes %s", s.Campaign, strings.Join(allowed, ", "))
				}
			}
		}
		for _, k := range []string{"conditions", "pattern", "constants", "attributes", "sidecar", "inside", "arrays", "balance", "tachometer", "calibration", "background", "columns", "format", "exclude", "channels", "theta_from"} {
			if f.Has(key + "." + k) {
				fail(key+"."+k, "a simulated campaign brings its own; leave the key out")
			}
		}
	}
	if in.Table != nil && in.Table.File == "" {
		fail(key+".table", "expected file: PATH, found none")
	}
	if in.Table != nil && f.Has(key+".theta_from") {
		fail(key+".theta_from", "belongs to recordings; a table of pairs is taken as it is")
	}
	if in.Tachometer != nil {
		in.Tachometer.validate(key+".tachometer", fail)
		if e.DSP.Track != nil {
			fail(at+".dsp.track", "a tachometer tells the speed; leave one of them out")
		}
	}
	if e.DSP.Amplitude == "synchronous" && in.Tachometer == nil {
		fail(at+".dsp.amplitude", "synchronous averages over the shaft's angle; expected ingest.tachometer: {channel: …, pulses_per_rev: …}")
	}
	if in.Calibration != nil && in.Calibration.Calibrator != nil {
		in.Calibration.validate(f, key+".calibration", fail)
	}
	if in.Sidecar != nil {
		in.Sidecar.validate(key+".sidecar", fail)
	}
	if len(in.Inside) > 0 && in.Conditions != "" {
		fail(key+".inside", "the conditions stand in a table already; leave one of them out")
	}
	if in.Background != nil {
		in.Background.validate(e, key+".background", fail)
	}
	if in.Balance != nil {
		in.Balance.validate(f, in, key+".balance", fail)
	}
	for _, a := range in.Attributes {
		for _, c := range in.Constants {
			if a.Name == c.Name {
				fail(key+".attributes."+a.Name, "stands among the constants too; keep one")
			}
		}
		if strings.TrimPrefix(a.Value, "@") == "" {
			fail(key+".attributes."+a.Name, "expected the name of an attribute, found %q", a.Value)
		}
	}
	if in.RateHz < 0 {
		fail(key+".rate_hz", "expected a rate above zero, found %g", in.RateHz)
	}

	dsp, key := &e.DSP, at+".dsp"
	pairsGiven := in.Table != nil || in.Simulate != nil && in.Simulate.Campaign == "toy"
	switch {
	case pairsGiven && (dsp.Triplets == "" || dsp.Triplets == "table"):
		dsp.Triplets = "table"
	case pairsGiven:
		fail(key+".triplets", "the table already holds pairs; leave the key out, or expected table, found %s", dsp.Triplets)
	case dsp.Triplets == "":
		fail(key, "expected triplets: random-samples, split-halves, split-half-spectrum or repeats, found none")
	case dsp.Triplets == "table":
		fail(key+".triplets", "table is for ingest.table only")
	}
	check := func(key string, ok bool, want string, found any) {
		if !ok {
			fail(key, "expected %s, found %v", want, found)
		}
	}
	check(key+".segments", dsp.Segments >= 2, "at least 2 segments", dsp.Segments)
	check(key+".harmonics", dsp.Harmonics >= 1 && dsp.Harmonics <= 100, "1 to 100 harmonics", dsp.Harmonics)
	check(key+".tolerance", dsp.Tolerance > 0 && dsp.Tolerance < 0.5, "a relative tolerance between 0 and 0.5", dsp.Tolerance)
	check(key+".min_bins", dsp.MinBins >= 0, "0 or more bins", dsp.MinBins)
	check(key+".samples", dsp.Samples >= 1, "at least 1 triplet per run", dsp.Samples)
	if t := dsp.Track; t != nil && (len(t.RangeHz) != 2 || t.RangeHz[0] <= 0 || t.RangeHz[0] >= t.RangeHz[1]) {
		fail(key+".track", "expected range_hz: [from, to] with 0 < from < to, found %v", t.RangeHz)
	}
	if t := dsp.Distance; t != nil && (t.FromM <= 0 || t.ToM <= 0) {
		fail(key+".distance", "expected from_m and to_m above zero, found %g and %g", t.FromM, t.ToM)
	}
	if (dsp.ChordM > 0) != (dsp.SpanM > 0) {
		fail(key, "chord_m and span_m make coefficients together; only one is given")
	}
	if dsp.ChordM < 0 || dsp.SpanM < 0 || dsp.DensityKgM3 < 0 {
		fail(key, "chord, span and density must be above zero")
	}
	if (dsp.TemperatureC != 0) != (dsp.PressurePa != 0) {
		fail(key, "temperature_c and pressure_pa give the density together; only one is given")
	}
	if dsp.PressurePa != 0 && dsp.DensityKgM3 != 0 {
		fail(key+".density_kg_m3", "the density is given twice: here, and by temperature_c and pressure_pa")
	}

	tr, key := &e.Train, at+".train"
	if !f.Has(key) {
		tr.Splits = nil
		return // no training wanted: the run ends with the triplets and their report
	}
	check(key+".inputs", len(tr.Inputs) > 0, "at least one condition the network sees", "none")
	for i, s := range tr.Inputs {
		if slices.Contains(tr.Inputs[:i], s) {
			fail(key+".inputs", "%q stands twice", s)
		}
	}
	check(key+".splits", len(tr.Splits) > 0, "at least one split", "none")
	check(key+".seeds", tr.Seeds >= 1 && tr.Seeds <= 1000, "1 to 1000 seeds", tr.Seeds)
	for _, h := range tr.Model.Hidden {
		check(key+".model.hidden", h >= 1 && h <= 4096, "layers of 1 to 4096 units", h)
	}
	check(key+".model.hidden", len(tr.Model.Hidden) >= 1 && len(tr.Model.Hidden) <= 8, "1 to 8 hidden layers", len(tr.Model.Hidden))
	check(key+".model.dropout", tr.Model.Dropout >= 0 && tr.Model.Dropout < 1, "a probability from 0 to below 1", tr.Model.Dropout)
	if f.Has(key+".model.feedback_value") && tr.Model.Feedback != "constant" {
		fail(key+".model.feedback_value", "belongs to feedback: constant, found feedback: %s", tr.Model.Feedback)
	}
	check(key+".loss.beta", tr.Loss.Beta >= 0 && tr.Loss.Beta <= 1, "0 to 1", tr.Loss.Beta)
	o := tr.Optimizer
	check(key+".optimizer.learning_rate", o.LearningRate > 0, "a step size above zero", o.LearningRate)
	check(key+".optimizer.weight_decay", o.WeightDecay >= 0, "zero or more", o.WeightDecay)
	check(key+".optimizer.batch", o.Batch >= 1, "at least 1", o.Batch)
	check(key+".optimizer.epochs", o.Epochs >= 1, "at least 1", o.Epochs)
	check(key+".estimate.samples", tr.Estimate.Samples >= 2, "at least 2", tr.Estimate.Samples)
	methods := []string{"ensemble", "mc-dropout", "zigzag", "gp"}
	for i, m := range tr.Compare {
		switch {
		case !slices.Contains(methods, m):
			fail(key+".compare", "expected some of %s, found %q%s", strings.Join(methods, ", "), m, didYouMean(m, methods))
		case slices.Contains(tr.Compare[:i], m):
			fail(key+".compare", "%q stands twice", m)
		case m == "mc-dropout" && tr.Model.Dropout == 0:
			fail(key+".compare", "mc-dropout needs model.dropout above 0")
		}
	}
	check(key+".members", tr.Members >= 2 && tr.Members <= 1000, "2 to 1000 networks", tr.Members)
	check(key+".calibration", tr.Calibration >= 0 && tr.Calibration <= 0.5, "a share from 0 to 0.5", tr.Calibration)
	for _, s := range tr.Splits {
		if s.Name == "" || strings.HasPrefix(s.Name, ".") || strings.ContainsAny(s.Name, "/\\\x00\n") {
			fail(key+".splits."+s.Name, "expected a name that can be a folder's (no /, no leading dot), found %q", s.Name)
		}
		switch {
		case len(s.Test) == 0 && len(s.Each) == 0:
			fail(key+".splits."+s.Name, "expected test: {condition: value}, or each: condition, found none")
		case len(s.Test) > 0 && len(s.Each) > 0:
			fail(key+".splits."+s.Name, "expected test or each, found both")
		case s.Blocks != 0 && len(s.Each) == 0:
			fail(key+".splits."+s.Name+".blocks", "belongs to each")
		case s.Blocks < 0 || s.Blocks == 1:
			fail(key+".splits."+s.Name+".blocks", "expected 2 blocks or more, found %d", s.Blocks)
		}
	}
}

// Resolve returns path as seen from the program: relative paths of the file
// start at the file's folder.
func (f *File) Resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.Dir, path)
}
