package ingeststage

import (
	"fmt"
	"path/filepath"
	"slices"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// findBackground takes the recordings of the background out of the experiment's
// files. Those named by globs need no conditions.
func findBackground(b *plan.Builder, src *plan.Source, raw []plan.RawFile,
	conds []*campaign.Conditions,
) (rest []plan.RawFile, restConds []*campaign.Conditions, err error) {
	bg := src.In.Background
	if bg == nil {
		return raw, conds, nil
	}
	key := b.At + ".ingest.background"
	if bg.Condition != "" && !slices.Contains(b.Conditions, bg.Condition) {
		return nil, nil, b.File.Errorf(key+".condition", "%q is not a condition of this experiment, which has %v",
			bg.Condition, b.Conditions)
	}
	b.Conditions = slices.DeleteFunc(b.Conditions, func(c string) bool { return c == bg.Condition })
	for i, r := range raw {
		is := false
		if bg.Condition != "" {
			if is, err = isBackground(b, src, r.Name, conds[i]); err != nil {
				return nil, nil, err
			}
		}
		if is {
			b.Backgrounds = append(b.Backgrounds, r)
			continue
		}
		rest, restConds = append(rest, r), append(restConds, conds[i])
	}
	if len(b.Backgrounds) == 0 {
		return nil, nil, b.File.Errorf(key, "no recording has a %s that is not zero", bg.Condition)
	}
	if len(rest) == 0 {
		return nil, nil, b.File.Errorf(key, "every recording is one of the background")
	}
	return rest, restConds, nil
}

// isBackground reports whether the condition marks a file. Intervals of one file
// belong together.
func isBackground(b *plan.Builder, src *plan.Source, name string, conds *campaign.Conditions) (bool, error) {
	condition := src.In.Background.Condition
	v, known := src.Constants[condition]
	if src.Pattern != nil {
		if m, _ := src.Pattern.Match(name); m != nil {
			if w, ok := m[condition]; ok {
				v, known = w, true
			}
		}
	}
	if conds != nil {
		if k := slices.Index(conds.Names, condition); k >= 0 {
			for i, r := range conds.Rows {
				if i > 0 && (r.Values[k] != 0) != (v != 0) {
					return false, &fault.Error{
						Path: conds.Path, Place: fmt.Sprintf("line %d", r.Line),
						Want: "one " + condition + " for all rows of " + name, Found: fmt.Sprintf("%g and %g", v, r.Values[k]),
					}
				}
				v, known = r.Values[k], true
			}
		}
	}
	if !known {
		return false, b.File.Errorf(b.At+".ingest.background.condition",
			"%q is not known before the files are read; take it from the conditions' table or the file names", condition)
	}
	return v != 0, nil
}

// backgroundFiles finds the recordings that globs name.
func backgroundFiles(b *plan.Builder) (map[string]bool, error) {
	bg := b.Exp.Ingest.Background
	if bg == nil || len(bg.Files) == 0 {
		return nil, nil
	}
	files, _, err := campaign.Find(bg.Files, b.Exp.Ingest.Exclude, b.File.Dir)
	if err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for _, p := range files {
		is[p] = true
		b.Backgrounds = append(b.Backgrounds, plan.RawFile{
			Name: filepath.ToSlash(p),
			File: &engine.File{Path: filepath.ToSlash(p), Open: b.File.Resolve(p)},
		})
	}
	return is, nil
}
