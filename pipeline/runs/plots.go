package runs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
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
func OpenPlots(path string) (_ *Plots, err error) {
	defer fault.Catch(&err)
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
		d := fault.Get(readPage(one))
		p.parts = []plotPart{{"", report.NewPlots(d, split)}}
		if split != "" && len(p.Names()) == 0 {
			return nil, &fault.Error{Path: path, Want: "a split of the report", Found: "a split without figures"}
		}

		return p, nil
	}

	below := os.DirFS(folder)
	found, _ := fs.Glob(below, "*/report/"+reportstage.PageData)
	variants, _ := fs.Glob(below, "*/*/report/"+reportstage.PageData)

	if _, err := os.Stat(path); err != nil || len(found)+len(variants) == 0 || split != "" {
		return nil, fault.At(path, "", "a work directory, runs/EXPERIMENT, or a split's folder in it", "no report",
			"pipeline run writes "+filepath.Join("runs", "EXPERIMENT", data))
	}

	for _, f := range append(found, variants...) {
		d := fault.Get(readPage(filepath.Join(folder, filepath.FromSlash(f))))
		p.parts = append(p.parts, plotPart{strings.TrimSuffix(f, "report/"+reportstage.PageData), report.NewPlots(d, "")})
	}

	return p, nil
}

func readPage(path string) (*report.Detail, error) {
	d, err := reportstage.ReadDetail(path)
	if err != nil {
		return nil, fault.At(path, "", "the numbers of a report", "others or damage", "pipeline run makes it again")
	}

	return d, nil
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// Names lists the figures.
func (p *Plots) Names() []string {
	return slices.Concat(lists.Each(p.parts, func(part plotPart) []string {
		return lists.Each(part.plots.Names(), func(name string) string { return part.prefix + name })
	})...)
}

// mostListed is how many figures are listed one by one.
const mostListed = 40

// List lists the figures of a kind; of "" all, or a line for each kind where they are many. It is nil where kind is
// a figure, or none.
func (p *Plots) List(kind string) []string {
	kinds := slices.Concat(lists.Each(p.parts, func(part plotPart) []string { return part.plots.Kinds() })...)

	return listed(kind, p.from, p.Names(), kinds)
}

func listed(kind, from string, names, kinds []string) (out []string) {
	switch {
	case slices.Contains(names, kind):
		return nil
	case kind == "" && len(names) <= mostListed:
		return names
	}

	of := map[string][]string{}
	for i, k := range kinds {
		of[k] = append(of[k], names[i])
	}

	if kind != "" {
		return of[kind]
	}

	for i, k := range kinds {
		if of[k][0] == names[i] { // the first of its kind
			out = append(out, fmt.Sprintf("%s: %s, as %s", k, fault.Plural(int64(len(of[k])), "figure"), names[i]))
		}
	}

	return append(out, "pipeline plot "+from+" KIND lists those of a kind")
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
