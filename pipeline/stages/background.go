package stages

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// backgroundData is the output of the task that measures the recordings of the
// background: a *background.
const backgroundData = "background.gob"

// background is what the microphones hear without the source under test.
type background struct {
	Channels []backgroundChannel
	Warnings []ingest.Warning
}

// backgroundChannel is one channel of one recording, in the unit of the levels.
type backgroundChannel struct {
	File, Name, Unit string
	Seconds          float64
	dsp.Background
}

// findBackground takes the recordings of the background out of the experiment's
// files. What is named by globs needs no conditions.
func (b *builder) findBackground(src *source, raw []rawFile, conds []*ingest.Conditions) (rest []rawFile, restConds []*ingest.Conditions, err error) {
	bg := src.in.Background
	if bg == nil {
		return raw, conds, nil
	}
	key := b.at + ".ingest.background"
	if bg.Condition != "" && !slices.Contains(b.conditions, bg.Condition) {
		return nil, nil, b.f.Errorf(key+".condition", "%q is not a condition of this experiment, which has %v", bg.Condition, b.conditions)
	}
	b.conditions = slices.DeleteFunc(b.conditions, func(c string) bool { return c == bg.Condition })
	for i, r := range raw {
		is := false
		if bg.Condition != "" {
			if is, err = b.isBackground(src, r.name, conds[i]); err != nil {
				return nil, nil, err
			}
		}
		if is {
			b.backgrounds = append(b.backgrounds, r)
			continue
		}
		rest, restConds = append(rest, r), append(restConds, conds[i])
	}
	if len(b.backgrounds) == 0 {
		return nil, nil, b.f.Errorf(key, "no recording has a %s that is not zero", bg.Condition)
	}
	if len(rest) == 0 {
		return nil, nil, b.f.Errorf(key, "every recording is one of the background")
	}
	return rest, restConds, nil
}

// isBackground says whether the condition marks a file. Intervals of one file
// belong together.
func (b *builder) isBackground(src *source, name string, conds *ingest.Conditions) (bool, error) {
	condition := src.in.Background.Condition
	v, known := src.constants[condition]
	if src.pattern != nil {
		if m, _ := src.pattern.Match(name); m != nil {
			if w, ok := m[condition]; ok {
				v, known = w, true
			}
		}
	}
	if conds != nil {
		if k := slices.Index(conds.Names, condition); k >= 0 {
			for i, r := range conds.Rows {
				if i > 0 && (r.Values[k] != 0) != (v != 0) {
					return false, &ingest.DataError{Path: conds.Path, Place: fmt.Sprintf("line %d", r.Line), Want: "one " + condition + " for all rows of " + name, Found: fmt.Sprintf("%g and %g", v, r.Values[k])}
				}
				v, known = r.Values[k], true
			}
		}
	}
	if !known {
		return false, b.f.Errorf(b.at+".ingest.background.condition", "%q is not known before the files are read; take it from the conditions' table or the file names", condition)
	}
	return v != 0, nil
}

// backgroundFiles finds the recordings that globs name.
func (b *builder) backgroundFiles() (map[string]bool, error) {
	bg := b.e.Ingest.Background
	if bg == nil || len(bg.Files) == 0 {
		return nil, nil
	}
	files, _, err := ingest.Find(bg.Files, b.e.Ingest.Exclude, b.f.Dir)
	if err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for _, p := range files {
		is[p] = true
		b.backgrounds = append(b.backgrounds, rawFile{name: filepath.ToSlash(p), file: &engine.File{Path: filepath.ToSlash(p), Open: b.f.Resolve(p)}})
	}
	return is, nil
}

// measureBackground adds the task that measures them; nil without a background.
func (b *builder) measureBackground(src *source) *engine.Dep {
	if len(b.backgrounds) == 0 {
		return nil
	}
	t := &engine.Task{
		ID: b.id("dsp", "background"), Stage: "dsp", Version: dspVersion, Weight: 0.05,
		Config: without(src.settings, "ingest.background"),
	}
	for _, r := range b.backgrounds {
		r.needs(t)
	}
	if src.calibrator != nil {
		t.Deps = append(t.Deps, *src.calibrator)
	}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		cal, err := src.sensitivities(j)
		if err != nil {
			return err
		}
		var out background
		for _, r := range b.backgrounds {
			if err := out.add(ctx, src, cal, r.name, r.path(j)); err != nil {
				return err
			}
		}
		f, err := os.Create(j.Output(backgroundData))
		if err != nil {
			return fmt.Errorf("write background: %w", err)
		}
		if err := errors.Join(gob.NewEncoder(f).Encode(&out), f.Close()); err != nil {
			return fmt.Errorf("write background: %w", err)
		}
		return nil
	}
	b.add(t)
	return &engine.Dep{Task: t.ID, Output: backgroundData}
}

// add measures the microphones of one recording.
func (bg *background) add(ctx context.Context, src *source, cal []sensitivity, name, path string) error {
	rd, err := ingest.Open(path, src.options)
	if err != nil {
		return named(err, path, name)
	}
	defer rd.Close()
	info := rd.Info()
	info.Path = name
	runs, _, err := ingest.Assemble([]string{name}, func(string) (ingest.Info, error) { return info, nil }, nil, nil, nil, src.grouping)
	if err != nil {
		return named(err, path, name)
	}
	_, warnings, err := ingest.Scan(ctx, rd, runs[0])
	if err != nil {
		return named(err, path, name)
	}
	for _, w := range append(slices.Clone(info.Warnings), warnings...) {
		w.Path = name
		bg.Warnings = append(bg.Warnings, w)
	}
	type said struct {
		dsp.Tone
		channel, unit string
	}
	var tones []said // the loudest channel's, by frequency
	for _, rec := range runs[0].Recordings {
		k := rec.Channels[0]
		ch := info.Channels[k]
		factor, unit, _, _, err := src.factor(cal, info, k)
		if err != nil {
			return err
		}
		if ch.RateHz <= 0 {
			return &ingest.DataError{Path: name, Want: "a sampling rate", Found: "none in the file", Hint: "state it in the configuration: ingest: {rate_hz: …}"}
		}
		m, err := dsp.MeasureBackground(ctx, rd, k, 0, ch.Samples, ch.RateHz)
		var de *dsp.Error
		if errors.As(err, &de) {
			return &ingest.DataError{Path: name, Place: "channel " + ch.Name, Want: de.Want, Found: de.Found, Hint: de.Hint}
		}
		if err != nil {
			return named(err, path, name)
		}
		for i := range m.Density {
			m.Density[i] *= factor * factor
		}
		for i := range m.Tones {
			t := &m.Tones[i]
			t.MeanSquare *= factor * factor
			at := slices.IndexFunc(tones, func(s said) bool { return math.Abs(s.Hz-t.Hz) < 2*m.BinHz })
			switch {
			case at < 0:
				tones = append(tones, said{*t, ch.Name, unit})
			case t.MeanSquare > tones[at].MeanSquare:
				tones[at] = said{*t, ch.Name, unit}
			}
		}
		bg.Channels = append(bg.Channels, backgroundChannel{name, ch.Name, unit, float64(ch.Samples) / ch.RateHz, *m})
	}
	if len(tones) == 0 {
		return nil
	}
	slices.SortStableFunc(tones, func(a, b said) int {
		switch {
		case a.MeanSquare > b.MeanSquare:
			return -1
		case a.MeanSquare < b.MeanSquare:
			return 1
		}
		return 0
	})
	const most = 8
	var parts []string
	for i, t := range tones {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d weaker", len(tones)-most))
			break
		}
		ref, levelUnit := reference(t.unit)
		parts = append(parts, fmt.Sprintf("%.4g Hz (%.1f %s, channel %s)", t.Hz, dsp.LevelDB(t.MeanSquare, ref), levelUnit, t.channel))
	}
	bg.Warnings = append(bg.Warnings, ingest.Warning{Path: name, Code: "background-tones", Text: "the background has tones of its own, which are not subtracted: " + strings.Join(parts, ", ")})
	return nil
}

// of lists what is known of a channel.
func (bg *background) of(name, unit, path string) ([]*backgroundChannel, error) {
	var out []*backgroundChannel
	var have []string
	for i := range bg.Channels {
		c := &bg.Channels[i]
		if c.Name != name {
			have = append(have, c.Name)
			continue
		}
		if c.Unit != unit {
			return nil, &ingest.DataError{Path: path, Place: "channel " + name, Want: fmt.Sprintf("levels in the unit of the background's recording %s, %q", c.File, c.Unit), Found: fmt.Sprintf("%q", unit)}
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, &ingest.DataError{Path: path, Place: "channel " + name, Want: "this channel in the background's recordings", Found: strings.Join(slices.Compact(have), ", ")}
	}
	return out, nil
}

// behind is the background's mean square behind a line, in what the line's
// power was taken from: the bins summed, or the width of one bin of a Hann
// window. tone is the strongest tone of the background there.
func behind(list []*backgroundChannel, l dsp.Line, binHz float64, amplitude string) (meanSquare float64, tone *dsp.Tone, file string) {
	lo, hi := l.PeakHz-0.75*binHz, l.PeakHz+0.75*binHz
	if amplitude == "band" && l.Band[1] >= l.Band[0] && l.Band[1] > 0 {
		lo, hi = (float64(l.Band[0])-0.5)*binHz, (float64(l.Band[1])+0.5)*binHz
	}
	seconds := 0.0
	for _, c := range list {
		meanSquare += c.MeanSquare(lo, hi) * c.Seconds
		seconds += c.Seconds
		for i, t := range c.Tones {
			if t.Hz > lo-c.BinHz && t.Hz < hi+c.BinHz && (tone == nil || t.MeanSquare > tone.MeanSquare) {
				tone, file = &c.Tones[i], c.File
			}
		}
	}
	return meanSquare / seconds, tone, file
}

// backgroundBehind adds the background's spectrum to the one that is shown, as
// its bins would read it: the mean over the background's recordings, by duration.
func (d *detail) backgroundBehind(bg *background, recs *table.Table) error {
	s := d.d.Shown
	if s == nil || recs == nil {
		return nil
	}
	row := slices.Index(recs.Column("recording").Strings, s.Recording)
	if row < 0 {
		return nil
	}
	list, err := bg.of(recs.Column("channel").Strings[row], recs.Column("unit").Strings[row], s.Recording)
	if err != nil {
		return err
	}
	ref, _ := reference(list[0].Unit)
	seconds := 0.0
	for _, c := range list {
		seconds += c.Seconds
		s.BackgroundFrom = append(s.BackgroundFrom, c.File)
	}
	last := s.BinHz * float64(len(s.Level[0])-1)
	for k := range s.Level[0] {
		p := 0.0
		for _, c := range list {
			p += c.Bin(float64(k)*s.BinHz, s.BinHz) * c.Seconds / seconds
		}
		s.Background = append(s.Background, dsp.LevelDB(p, ref))
	}
	for _, c := range list {
		for _, t := range c.Tones {
			if t.Hz > last {
				continue
			}
			s.BackgroundTones = append(s.BackgroundTones, report.SpectrumLine{Hz: t.Hz, Level: dsp.LevelDB(t.MeanSquare, ref), Floor: math.NaN()})
		}
	}
	return nil
}

func readBackground(path string) (*background, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read background: %w", err)
	}
	defer f.Close()
	bg := &background{}
	if err := gob.NewDecoder(f).Decode(bg); err != nil {
		return nil, fmt.Errorf("read background: %w", err)
	}
	return bg, nil
}
