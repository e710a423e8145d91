// Package library learns the prior of the calibration of new campaigns from finished runs. The calibration states by
// which factor the errors on new groups exceed the errors that a model states. The finished runs left groups out of
// training, and the errors on these groups show the factors. See docs/honest.md.
//
// A calibration belongs to one split of an experiment. A family is the calibrations below one work directory: it counts
// as independent of the other families, so that each family shows how well a prior of the others describes it. Claims
// of networks are too small by other factors than the claims of processes, so that a prior is learned for one of the
// two kinds: Library.Like names the built-in prior for models of that kind.
package library

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/report"
	"doubletake/train/honest"
	"doubletake/train/honest/leftout"
	"doubletake/train/honest/scale"
)

// Library is a prior, and the families of runs from which it was learned.
type Library struct {
	Prior    scale.Prior
	Like     string // name of the prior that is built in for models of this kind
	Families []Family
	Groups   int      // number of measured groups
	Notes    []string // for people

	// By held-out group: by which factor E|cov|, the mean absolute covariance of the networks' answers, is larger than in
	// training, and the share of the group's values inside the 95 % intervals.
	rises, inside []float64
}

// Family is the runs of a work directory. A prior is judged on a family that was left out when the prior was learned.
type Family struct {
	Dir         string
	Data        []string // "simulated", "measured"
	Experiments []string
	Splits      int
	Groups      int            // number of measured groups; a group counts once if several splits leave it out
	LeftOut     *scale.LeftOut // evidence under the prior of the other families; nil if there are none

	conditions []string // the experiments with the conditions that define their groups, for people
	campaigns  scale.Family
}

// calibration is the calibration of a split.
type calibration struct {
	experiment string
	condition  string // defines the groups
	data       string // "simulated" or "measured"
	names      []string
	left       []scale.Group // the left-out groups, with the names
	outcomes   int           // number of outcomes
	like       scale.Prior   // the built-in prior for models of this kind
	heldOut    heldOut
	isScaled   bool // the intervals are scaled by E|cov| (honest.scale: ecov): no record of other intervals
}

// heldOut describes the held-out part of a split. Both numbers are NaN if they are not known.
type heldOut struct {
	rise   float64 // E|cov| over E|cov| in training
	inside float64 // share of the values inside the 95 % intervals
}

// isKnown reports whether both numbers are known.
func (h heldOut) isKnown() bool { return !math.IsNaN(h.rise) && !math.IsNaN(h.inside) }

// fewGroups is the number of groups below which the built-in prior is safer.
const fewGroups = 10

// Learn learns a prior with the given name from the calibrations below the folders, of which there must be at least
// one. Each folder is a family. If some models are not networks, Learn leaves networks aside, because their errors
// exceed the errors that they state by other factors. The splits of an experiment leave out the same groups for the
// most part, so that together they count as one. Learn returns an error if a folder has no calibration with enough
// groups.
func Learn(ctx context.Context, dirs []string, name string) (*Library, error) {
	var byFolder [][]calibration
	seen := map[string]string{}
	for _, dir := range dirs {
		list, err := read(ctx, dir, seen)
		if err != nil {
			return nil, err
		}

		byFolder = append(byFolder, list)
	}

	like := commonPrior(slices.Concat(byFolder...))
	library := &Library{Like: like.Name}
	isOther := func(c calibration) bool { return c.like.Name != like.Name }
	networks := 0 // number of calibrations that are left aside
	for i, list := range byFolder {
		same := slices.DeleteFunc(slices.Clone(list), isOther)
		networks += len(list) - len(same)
		if len(same) > 0 {
			library.add(dirs[i], same)
		}
	}

	if networks > 0 {
		library.Notes = append(library.Notes, fmt.Sprintf("%s of networks left aside: their errors exceed their claims "+
			"by other factors; give their work directories alone", fault.Plural(int64(networks), "calibration")))
	}

	library.learn(like, name)

	return library, ctx.Err()
}

// commonPrior returns the built-in prior for the models from which Learn learns: the prior "wide" if any model has it,
// and otherwise, if all models are networks, the prior of the first. all must not be empty.
func commonPrior(all []calibration) scale.Prior {
	for _, c := range all {
		if c.like.Name == "wide" {
			return c.like
		}
	}

	return all[0].like
}

// read returns the calibrations below a folder from which a prior can be learned. seen has the folder of each file that
// was read so far, by the digest of the file. read adds the files that it reads.
func read(ctx context.Context, dir string, seen map[string]string) ([]calibration, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fault.At(dir, "", "a work directory", "none",
			"name the folder that pipeline run wrote, such as runs or runs/EXPERIMENT")
	}

	found := 0
	var list []calibration
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || entry.Name() != leftout.File:
			return nil
		}

		found++

		c, isNew, err := readCalibration(path, dir, seen)
		if err != nil {
			return err
		}

		if isNew {
			list = append(list, c)
		}

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

	return nil, fault.At(dir, "", "finished calibrations ("+leftout.File+")", "none", "run the pipeline first")
}

// readCalibration reads a calibration below dir. isNew is false if nothing can be learned from it: it has too few
// groups, or an equal table of groups was read below dir already, as from an experiment that only has other networks.
// It is an error if an equal table was read below another folder, because the folders must be independent.
func readCalibration(path, dir string, seen map[string]string) (c calibration, isNew bool, err error) {
	t, err := table.ReadVerified(path)
	if err != nil {
		return calibration{}, false, &fault.Error{Path: path, Err: err}
	}

	left, err := leftout.Read(t)
	if err != nil {
		return calibration{}, false, &fault.Error{Path: path, Err: err}
	}

	if len(left.Groups) < scale.MinGroups {
		return calibration{}, false, nil
	}

	digest := t.Digest()
	other, isKnown := seen[digest]
	if isKnown && other == dir {
		return calibration{}, false, nil
	}

	if isKnown {
		return calibration{}, false, fault.At(path, "", "other measurements in each folder",
			"left-out groups that are in "+other+" too", "")
	}

	seen[digest] = dir
	c = calibration{
		experiment: t.Get("experiment"), condition: t.Get("condition"), data: t.Get("data"),
		names: left.Names, left: left.Groups, outcomes: left.Outcomes,
		like:     honest.Learner{Settings: honest.Settings{Base: t.Get("base")}}.ScalePrior(),
		isScaled: t.Get("config:train.honest.scale") == "ecov",
	}

	c.heldOut, err = readHeldOut(filepath.Dir(path))
	if err != nil {
		return calibration{}, false, err
	}

	return c, true, nil
}

// readHeldOut reads the numbers of the held-out part of a split, whose folder it is given, from the metrics of the
// experiment. They are not known if there is no file of metrics, or if the file does not have the split.
func readHeldOut(split string) (heldOut, error) {
	unknown := heldOut{rise: math.NaN(), inside: math.NaN()}
	metrics, err := report.ReadMetrics(report.MetricsPath(filepath.Join(split, "..", "..")))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}

	if err != nil {
		return unknown, err
	}

	for _, s := range metrics.Splits {
		if s.Name == filepath.Base(split) {
			rise := s.Test.Get("abs_cov").Mean / s.Train.Get("abs_cov").Mean
			return heldOut{rise: rise, inside: s.Honest.At[coverage95]}, nil
		}
	}

	return unknown, nil
}

// coverage95 is the index of the level 95 % among the levels at which the report states the share inside
// (score.Levels).
const coverage95 = 2

// group identifies a measured group.
type group struct {
	experiment, condition, name string
}

// add adds a family: the calibrations of a work directory.
func (l *Library) add(dir string, list []calibration) {
	family := newFamily(dir, list)
	splits := map[string]int{} // number of splits by experiment
	for _, c := range list {
		splits[c.experiment]++
	}

	for _, c := range list {
		if !c.isScaled && c.heldOut.isKnown() {
			l.rises = append(l.rises, c.heldOut.rise)
			l.inside = append(l.inside, c.heldOut.inside)
		}

		campaign := scale.NewCampaign(c.left, c.outcomes, c.like)
		campaign.Weight = 1 / float64(splits[c.experiment])
		family.campaigns = append(family.campaigns, campaign)
	}

	l.Groups += family.Groups
	l.Families = append(l.Families, family)
}

// newFamily returns the family of calibrations, without campaigns.
func newFamily(dir string, list []calibration) Family {
	family := Family{Dir: dir, Splits: len(list)}
	conditions := map[string][]string{} // by experiment
	groups := map[group]bool{}
	for _, c := range list {
		if !slices.Contains(family.Experiments, c.experiment) {
			family.Experiments = append(family.Experiments, c.experiment)
		}

		if !slices.Contains(conditions[c.experiment], c.condition) {
			conditions[c.experiment] = append(conditions[c.experiment], c.condition)
		}

		if !slices.Contains(family.Data, c.data) {
			family.Data = append(family.Data, c.data)
		}

		for _, name := range c.names {
			groups[group{c.experiment, c.condition, name}] = true
		}
	}

	family.Groups = len(groups)
	for _, experiment := range family.Experiments {
		family.conditions = append(family.conditions, experiment+" ("+strings.Join(conditions[experiment], ", ")+")")
	}

	return family
}

// learn sets the prior that the families give, its name and origin, and the evidence for each family under the prior of
// the other families. like is the built-in prior for models of this kind.
func (l *Library) learn(like scale.Prior, name string) {
	var families []scale.Family
	for _, family := range l.Families {
		families = append(families, family.campaigns)
	}

	prior, leftOut := scale.LearnPrior(families, like)
	prior.Name = name
	prior.Origin = l.origin()
	l.Prior = prior
	l.learnRises(name)

	for i := range leftOut {
		l.Families[i].LeftOut = &leftOut[i]
	}

	l.noteDoubts(leftOut)
}

// origin returns a text that says from which groups, experiments and families the prior was learned.
func (l *Library) origin() string {
	var experiments, data []string

	count := 0
	for _, family := range l.Families {
		count += len(family.Experiments)
		experiments = append(experiments, strings.Join(family.conditions, ", "))
		data = append(data, family.Data...)
	}

	slices.Sort(data)

	return fmt.Sprintf("%s of %s in %s, %s: %s", fault.Plural(int64(l.Groups), "left-out group"),
		fault.Plural(int64(count), "experiment"), plural(len(l.Families), "family", "families"),
		strings.Join(slices.Compact(data), " and "), strings.Join(experiments, "; "))
}

// learnRises sets the prior's record of what a rise of E|cov| means for the intervals, if there are enough held-out
// groups. Otherwise it adds a note.
func (l *Library) learnRises(name string) {
	rises, isEnough := scale.LearnRises(l.rises, l.inside)
	if !isEnough {
		l.Notes = append(l.Notes, fmt.Sprintf("E|cov| rose in %d of %s and did not in %d: from %d groups on, with five of "+
			"each, they replace the record of measured sets", rises.Rose.Groups,
			fault.Plural(int64(len(l.rises)), "held-out group"), rises.Steady.Groups, scale.FewestRises))

		return
	}

	rises.Source = "the campaigns of prior " + name
	rises.Origin = l.Prior.Origin
	l.Prior.Rises = rises
}

// noteDoubts adds notes about what limits the trust in the prior. leftOut has the evidence for each left-out family,
// and is nil if there is only one family.
func (l *Library) noteDoubts(leftOut []scale.LeftOut) {
	if leftOut == nil {
		l.Notes = append(l.Notes, "one family: nothing could be left out, so nothing says whether the prior holds elsewhere")
	}

	if l.Groups < fewGroups {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: with fewer than %d the prior %s is safer",
			fault.Plural(int64(l.Groups), "group"), fewGroups, l.Like))
	}

	gain := 0.0 // of ln evidence, by learning
	for _, family := range leftOut {
		gain += family.Learned - family.Like
	}

	if gain < 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("left-out families have less evidence than with the prior %s, which is safer",
			l.Like))
	}
}

// plural returns a count with its noun, in the singular or the plural.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Encode returns the contents of a file with the prior, which train.honest.prior can name. Encode returns an error if
// there is a file at path that is not a file of priors, because the new file would replace it.
func (l *Library) Encode(path string) ([]byte, error) {
	data, err := scale.EncodePriors(l.Prior)
	if err != nil {
		return nil, err
	}

	if old, err := os.ReadFile(path); err == nil {
		if _, err := scale.ReadPriors(old); err != nil {
			return nil, &fault.Error{Path: path, Want: "a new file, or one of priors", Found: "another", Hint: "move it away"}
		}
	}

	return data, nil
}

// BuiltIn reports whether a prior with this name comes with the program.
func BuiltIn(name string) bool { return scale.IsNamed(name) }
