package runs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/reportstage"
	"doubletake/report"
)

// Plots are the figures that can be drawn of a run: those of its experiments, or of one
// of them, or of one split.
type Plots struct {
	from  string
	parts []plotPart
}

type plotPart struct {
	prefix string // of the names
	plots  *report.Plots
}

// OpenPlots finds the figures of a work directory, an experiment's folder in it, or a
// split's folder or model in that. What holds no report is a *fault.Error.
func OpenPlots(path string, polar bool) (*Plots, error) {
	p := &Plots{from: path}

	folder, split := filepath.Clean(path), ""
	for at := folder; ; at = filepath.Dir(at) { // a model's split
		if above := filepath.Dir(at); filepath.Base(above) == "splits" &&
			isFile(filepath.Join(filepath.Dir(above), "report", reportstage.PageData)) {
			folder, split = filepath.Dir(above), filepath.Base(at)
			break
		} else if above == at || above == "." {
			break
		}
	}

	data := filepath.Join("report", reportstage.PageData)
	if one := filepath.Join(folder, data); isFile(one) {
		d, err := reportstage.ReadDetail(one)
		if err != nil {
			return nil, &fault.Error{Path: one, Want: "the numbers of a report", Err: err, Hint: "pipeline run makes it again"}
		}

		p.parts = []plotPart{{"", report.NewPlots(d, split, polar)}}
		if split != "" && len(p.Names()) == 0 {
			return nil, &fault.Error{Path: path, Want: "a split of the report", Found: "a split without figures"}
		}

		return p, nil
	}

	found := below(folder, filepath.ToSlash(data))
	if _, err := os.Stat(path); err != nil || len(found) == 0 || split != "" {
		return nil, &fault.Error{
			Path: path, Want: "a work directory, runs/EXPERIMENT, or a split's folder in it", Found: "no report",
			Hint: "pipeline run writes " + filepath.Join("runs", "EXPERIMENT", data),
		}
	}

	for _, f := range found {
		d, err := reportstage.ReadDetail(f)
		if err != nil {
			return nil, &fault.Error{Path: f, Want: "the numbers of a report", Err: err, Hint: "pipeline run makes it again"}
		}

		name := nameBelow(folder, filepath.Dir(filepath.Dir(f)))
		p.parts = append(p.parts, plotPart{name + "/", report.NewPlots(d, "", polar)})
	}

	return p, nil
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// Names lists the figures.
func (p *Plots) Names() []string {
	var out []string
	for _, k := range p.parts {
		for _, n := range k.plots.Names() {
			out = append(out, k.prefix+n)
		}
	}

	return out
}

// Draw returns a figure as a file. A name that is none is a *config.UsageError.
func (p *Plots) Draw(name string, o report.PlotOptions) ([]byte, error) {
	for _, k := range p.parts {
		if n, ok := strings.CutPrefix(name, k.prefix); ok && slices.Contains(k.plots.Names(), n) {
			return k.plots.Draw(n, o)
		}
	}

	return nil, &config.UsageError{
		Text: "there is no figure " + name + " of " + p.from + spelling.DidYouMean(name, p.Names()) +
			"; pipeline plot " + p.from + " lists them",
	}
}
