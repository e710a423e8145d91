// Package library learns the prior of the scale of errors on new groups from the left-out
// groups of finished runs. See docs/honest.md.
package library

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/honest"
	"doubletake/train/honest/scale"
)

// Library is a prior and what it was learned from.
type Library struct {
	Prior    scale.Prior
	Like     string // the name of the prior that is built in for such models
	Families []Family
	Groups   int
	Notes    []string // for people

	rises, inside []float64 // of the held-out groups: E|cov| over that in training, share inside 95 % intervals
}

// Family is a work directory: what is left out at a time when a prior is judged.
type Family struct {
	Dir         string
	Data        []string // "simulated", "measured"
	Experiments []string
	Splits      int
	Groups      int            // measured groups, however many splits leave them out
	Without     *scale.LeftOut // under the prior of the others; nil where there are none

	conditions []string // of the experiments, with their groups' conditions
	campaigns  scale.Family
}

// calibration is one split's file.
type calibration struct {
	experiment, condition, data string
	names                       []string
	left                        []scale.Group
	outcomes                    int
	like                        scale.Prior
	rise, inside                float64 // of what the split held out: E|cov| over that in training, share inside; or NaN
	scaled                      bool    // intervals by scale: ecov, whose share inside is no record of others
}

// fewGroups is the number of groups below which the built-in prior is safer.
const fewGroups = 10

// Learn learns a prior from the calibrations below the folders. A split counts for one over
// the number of splits of its experiment, most of which leave out the same groups.
func Learn(ctx context.Context, dirs []string, name string) (*Library, error) {
	var files [][]calibration
	seen := map[string]string{}
	l := &Library{Like: "wide"}

	for _, dir := range dirs {
		list, err := read(ctx, dir, seen)
		if err != nil {
			return nil, err
		}

		files = append(files, list)
	}

	other := func(c calibration) bool { return c.like.Name != l.Like }
	like, networks := files[0][0].like, 0
	if !slices.ContainsFunc(slices.Concat(files...), func(c calibration) bool { return !other(c) }) {
		l.Like = like.Name
	}

	for i, list := range files {
		networks += len(list)
		if list = slices.DeleteFunc(list, other); len(list) > 0 {
			like = list[0].like
			l.add(dirs[i], list)
		}
		networks -= len(list)
	}

	if networks > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("%s of networks left aside: their errors exceed their claims by other "+
			"factors; give their work directories alone", fault.Plural(int64(networks), "calibration")))
	}

	l.learn(like, name)

	return l, ctx.Err()
}

// read returns the calibrations below a folder that have groups to learn from. seen holds
// those of the folders before.
func read(ctx context.Context, dir string, seen map[string]string) (list []calibration, err error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fault.At(dir, "", "a work directory", "none", "pipeline run makes one")
	}

	found := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || d.Name() != trainstage.LeftOutData:
			return nil
		}

		found++

		t, err := table.ReadVerified(path)
		if err != nil {
			return &fault.Error{Path: path, Err: err}
		}

		c := calibration{experiment: t.Get("experiment"), condition: t.Get("condition"), data: t.Get("data")}
		if c.names, c.left, c.outcomes, err = trainstage.ReadLeftOut(t); err != nil {
			return &fault.Error{Path: path, Err: err}
		}

		if len(c.left) < scale.MinGroups {
			return nil
		}

		digest := t.Digest()
		switch other, known := seen[digest]; {
		case known && other == dir: // experiments that differ in their networks only
			return nil
		case known:
			return fault.At(path, "", "other measurements in each folder", "left-out groups that are in "+other+" too", "")
		}

		seen[digest] = dir
		c.like = honest.Learner{Settings: honest.Settings{Base: t.Get("base")}}.ScalePrior()
		c.scaled = t.Get("config:train.honest.scale") == "ecov"
		if c.rise, c.inside, err = heldOut(filepath.Dir(path)); err != nil {
			return err
		}

		list = append(list, c)

		return nil
	})

	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fault.In(dir, err)
	case len(list) > 0:
		return list, nil
	case found > 0:
		return nil, fault.At(dir, "", "splits that leave out at least two groups each", "fewer groups in all", "")
	}

	return nil, fault.At(dir, "", "finished calibrations ("+trainstage.LeftOutData+")", "none", "run the pipeline first")
}

// heldOut is the rise of E|cov| in what a split held out, and the share inside its 95 % intervals, by the metrics.json
// of its experiment; NaN where there is none.
func heldOut(split string) (rise, inside float64, err error) {
	path := filepath.Join(split, "..", "..", "report", "metrics.json")
	rise, inside = math.NaN(), math.NaN()

	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return rise, inside, nil
	}

	var doc report.Metrics
	if err = cmp.Or(err, json.Unmarshal(b, &doc)); err != nil {
		return 0, 0, fault.OfJSON(path, "the metrics of an experiment", err)
	}

	for _, s := range doc.Splits {
		if s.Name == filepath.Base(split) {
			rise, inside = s.Test.Get("abs_cov").Mean/s.Train.Get("abs_cov").Mean, s.Honest.At[2]
		}
	}

	return rise, inside, nil
}

// add adds a family.
func (l *Library) add(dir string, list []calibration) {
	f := Family{Dir: dir, Splits: len(list)}
	splits, conditions, groups := map[string]int{}, map[string][]string{}, map[[3]string]bool{}
	for _, c := range list {
		if splits[c.experiment]++; splits[c.experiment] == 1 {
			f.Experiments = append(f.Experiments, c.experiment)
		}

		if !slices.Contains(conditions[c.experiment], c.condition) {
			conditions[c.experiment] = append(conditions[c.experiment], c.condition)
		}

		if !slices.Contains(f.Data, c.data) {
			f.Data = append(f.Data, c.data)
		}

		for _, n := range c.names {
			groups[[3]string{c.experiment, c.condition, n}] = true
		}
	}

	f.conditions = lists.Each(f.Experiments, func(e string) string {
		return e + " (" + strings.Join(conditions[e], ", ") + ")"
	})

	for _, c := range list {
		if !c.scaled && !math.IsNaN(c.rise+c.inside) {
			l.rises, l.inside = append(l.rises, c.rise), append(l.inside, c.inside)
		}

		campaign := scale.NewCampaign(c.left, c.outcomes, c.like)
		campaign.Weight = 1 / float64(splits[c.experiment])
		f.campaigns = append(f.campaigns, campaign)
	}

	f.Groups = len(groups)
	l.Groups += f.Groups
	l.Families = append(l.Families, f)
}

// learn chooses the prior, and writes down where it comes from and what to think of it.
func (l *Library) learn(like scale.Prior, name string) {
	var families []scale.Family
	var origin, data []string

	experiments := 0
	for _, f := range l.Families {
		families = append(families, f.campaigns)
		experiments += len(f.Experiments)
		origin, data = append(origin, strings.Join(f.conditions, ", ")), append(data, f.Data...)
	}

	p, without := scale.LearnPrior(families, like)

	slices.Sort(data)
	p.Name = name
	p.Origin = fmt.Sprintf("%s of %s in %s, %s: %s", fault.Plural(int64(l.Groups), "left-out group"),
		fault.Plural(int64(experiments), "experiment"), plural(len(families), "family", "families"),
		strings.Join(slices.Compact(data), " and "), strings.Join(origin, "; "))

	if r, enough := scale.LearnRises(l.rises, l.inside); enough {
		r.Of, r.Origin = "the campaigns of prior "+name, p.Origin
		p.Rises = r
	} else {
		l.Notes = append(l.Notes, fmt.Sprintf("E|cov| rose in %d of %s and did not in %d: from %d groups on, with five of "+
			"each, they replace the record of measured sets", r.Rose.Groups, fault.Plural(int64(len(l.rises)), "held-out group"),
			r.Steady.Groups, scale.FewestRises))
	}

	l.Prior = p

	gain := 0.0
	for i := range without {
		l.Families[i].Without = &without[i]
		gain += without[i].Learned - without[i].Like
	}

	if without == nil {
		l.Notes = append(l.Notes, "one family: nothing could be left out, so nothing says whether the prior holds elsewhere")
	}

	if l.Groups < fewGroups {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: with fewer than %d the prior %s is safer",
			fault.Plural(int64(l.Groups), "group"), fewGroups, l.Like))
	}

	if gain < 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("left-out families have less evidence than with the prior %s, which is safer",
			l.Like))
	}
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Write writes the file that train.honest.prior names. It replaces nothing but such a file.
func (l *Library) Write(path string) error {
	b, err := scale.EncodePriors(l.Prior)
	if err != nil {
		return err
	}

	old, err := os.ReadFile(path)
	if _, wrong := scale.ReadPriors(old); err == nil && wrong != nil {
		return &fault.Error{Path: path, Want: "a new file, or one of priors", Found: "another", Hint: "move it away"}
	}

	return engine.WriteFile(path, b)
}

// BuiltIn reports whether a prior of this name comes with the program.
func BuiltIn(name string) bool { return scale.IsNamed(name) }
