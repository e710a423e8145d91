package app

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline"
	"doubletake/report"
	"doubletake/report/answer/library"
)

// runHonest learns a library from finished runs: the prior of the calibration of campaigns that are not among them. It
// prints the families of the runs and writes the library to a file.
func runHonest(c *call) error {
	name := c.String("name")
	path := c.String("out")

	var dirs []string
	for _, dir := range c.args[1:] {
		dir = filepath.Clean(dir)
		if slices.Contains(dirs, dir) {
			return usage("pipeline honest library: %s is given twice", dir)
		}
		dirs = append(dirs, dir)
	}

	switch {
	case c.args[0] != "library":
		return usage("pipeline honest takes the word library and work directories of finished runs, found %q", c.args)
	case library.BuiltIn(name):
		return usage("--name wants a name of its own, found %q, which comes with the program", name)
	}

	learned, err := library.Learn(c.ctx, dirs, name)
	if err != nil {
		return err
	}

	if err := writeFamilies(c.stdout, learned); err != nil {
		return err
	}

	data, err := learned.Encode(path)
	if err != nil {
		return err
	}

	if err := pipeline.WriteFile(path, data); err != nil {
		return err
	}

	printNotes(c.stderr, learned.Notes)
	fmt.Fprintf(c.stdout, "wrote %s; for campaigns that are not among these, write in pipeline.yaml: "+
		"train: {honest: {prior: %s}}\n", path, spelling.YAML(path))

	return nil
}

// writeFamilies lists the families from which the prior was learned, each with its evidence under the prior that the
// other families give. It then prints the prior of all families.
func writeFamilies(w io.Writer, learned *library.Library) error {
	listing := report.Listing{Heads: []string{
		"family", "data", "experiments", "splits", "groups", "prior of the others", "steps", "ln evidence",
		"with " + learned.Like,
	}}
	for _, family := range learned.Families {
		cells := []string{
			family.Dir, strings.Join(family.Data, ", "), strconv.Itoa(len(family.Experiments)), strconv.Itoa(family.Splits),
			strconv.Itoa(family.Groups),
		}
		if others := family.LeftOut; others != nil {
			cells = append(cells, priorText(others.Prior.M, others.Prior.MStd, others.Prior.Tau, others.Prior.TauStd),
				strconv.Itoa(others.Steps), fmt.Sprintf("%.1f", others.Learned), fmt.Sprintf("%.1f", others.Like))
		} else {
			cells = append(cells, "none")
		}

		listing.Add(cells...)
	}

	if err := listing.Write(w, width(w)); err != nil {
		return err
	}

	// M is the mean of the logarithm of the factor, and Tau its standard deviation (docs/honest.md).
	prior := learned.Prior
	fmt.Fprintf(w, "\nprior %s: %s; errors exceed claims by a factor about %s, between groups by factors about %s "+
		"either way\nfrom %s\n", prior.Name, priorText(prior.M, prior.MStd, prior.Tau, prior.TauStd),
		fault.Digits(math.Exp(prior.M), 2), fault.Digits(math.Exp(prior.Tau), 2), prior.Origin)

	if prior.RisesRecord() == prior.Rises { // otherwise the prior uses the record of the program
		fmt.Fprintln(w, prior.Rises.Words())
	}

	return nil
}

// priorText returns the four numbers of a prior with the names of docs/honest.md.
func priorText(m, mStd, tau, tauStd float64) string {
	return fmt.Sprintf("m %s ± %g, τ %g, ln τ ± %g", fault.Digits(m, 4), mStd, tau, tauStd)
}
