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
	"doubletake/pipeline/library"
	"doubletake/report"
)

func runHonest(c *call) error {
	args, name, out := c.args, c.String("name"), c.String("out")

	var dirs []string
	for _, dir := range args[1:] {
		if dir = filepath.Clean(dir); slices.Contains(dirs, dir) {
			return usage("pipeline honest library: %s is given twice", dir)
		}
		dirs = append(dirs, dir)
	}

	switch {
	case args[0] != "library":
		return usage("pipeline honest takes the word library and work directories of finished runs, found %q", args)
	case library.BuiltIn(name):
		return usage("--name wants a name of its own, found %q, which comes with the program", name)
	}

	l := fault.Get(library.Learn(c.ctx, dirs, name))
	fault.Raise(writeFamilies(c.stdout, l))
	fault.Raise(l.Write(out))
	printNotes(c.stderr, l.Notes)
	fmt.Fprintf(c.stdout, "wrote %s; for campaigns that are not among these, write in pipeline.yaml: "+
		"train: {honest: {prior: %s}}\n", out, out)

	return nil
}

// writeFamilies lists what the prior was learned from, and each family under the prior of
// the others.
func writeFamilies(w io.Writer, l *library.Library) error {
	list := report.Listing{Heads: []string{
		"family", "data", "experiments", "splits", "groups", "prior of the others", "steps", "ln evidence", "with " + l.Like,
	}}
	for _, f := range l.Families {
		cells := []string{
			f.Dir, strings.Join(f.Data, ", "), strconv.Itoa(len(f.Experiments)), strconv.Itoa(f.Splits), strconv.Itoa(f.Groups),
			"none",
		}
		if o := f.Without; o != nil {
			cells = append(cells[:5], priorText(o.Prior.M, o.Prior.MStd, o.Prior.Tau, o.Prior.TauStd), strconv.Itoa(o.Steps),
				fmt.Sprintf("%.1f", o.Learned), fmt.Sprintf("%.1f", o.Like))
		}

		list.Add(cells...)
	}

	fault.Raise(list.Write(w, width(w)))
	p := l.Prior
	fmt.Fprintf(w, "\nprior %s: %s; errors exceed claims by a factor about %.2g, between groups by factors about %.2g "+
		"either way\nfrom %s\n", p.Name, priorText(p.M, p.MStd, p.Tau, p.TauStd), math.Exp(p.M), math.Exp(p.Tau), p.Origin)

	if p.RisesRecord() == p.Rises {
		fmt.Fprintln(w, p.Rises.Words())
	}

	return nil
}

// priorText writes the four numbers of a prior as docs/honest.md names them.
func priorText(m, mStd, tau, tauStd float64) string {
	return fmt.Sprintf("m %.4g ± %g, τ %g, ln τ ± %g", m, mStd, tau, tauStd)
}
