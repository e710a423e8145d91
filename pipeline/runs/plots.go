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
	"doubletake/pipeline/stages"
	"doubletake/report"
)

// Plots are the figures of a run: of all experiments, of one experiment, or of one split.
type Plots struct {
	source string // path of the run, as the user gave it
	parts  []plotPart
}

// plotPart is the figures of one report.
type plotPart struct {
	prefix string // of the names of the figures
	plots  *report.Plots
}

// OpenPlots finds the figures of a work directory, of an experiment's folder in it, or of a split's folder or model in
// the experiment's folder. It returns a *fault.Error if there is no report.
func OpenPlots(path string) (*Plots, error) {
	p := &Plots{source: path}
	folder, split := experimentOf(filepath.Clean(path))
	data := filepath.Join("report", stages.PageData)
	if page := filepath.Join(folder, data); isFile(page) { // the folder is an experiment's
		if err := p.add("", page, split); err != nil {
			return nil, err
		}

		if split != "" && len(p.Names()) == 0 {
			return nil, &fault.Error{Path: path, Want: "a split of the report", Found: "a split without figures"}
		}

		return p, nil
	}

	root := os.DirFS(folder)
	pages, _ := fs.Glob(root, "*/report/"+stages.PageData) // the patterns are well-formed
	variants, _ := fs.Glob(root, "*/*/report/"+stages.PageData)
	pages = append(pages, variants...)

	_, err := os.Stat(path)
	if err != nil || len(pages) == 0 || split != "" {
		return nil, fault.At(path, "", "a work directory, runs/EXPERIMENT, or a split's folder in it", "no report",
			"pipeline run writes "+filepath.Join("runs", "EXPERIMENT", data))
	}

	for _, page := range pages {
		prefix := strings.TrimSuffix(page, "report/"+stages.PageData)
		if err := p.add(prefix, filepath.Join(folder, filepath.FromSlash(page)), ""); err != nil {
			return nil, err
		}
	}

	return p, nil
}

// add adds the figures of a report whose numbers are in the file page. If split is not "", it adds only the figures of
// this split.
func (p *Plots) add(prefix, page, split string) error {
	detail, err := readPage(page)
	if err != nil {
		return err
	}

	p.parts = append(p.parts, plotPart{prefix, report.NewPlots(detail, split)})

	return nil
}

// experimentOf returns the folder of the experiment and the name of the split if path is the folder of a split or
// within it. Otherwise it returns path and "".
func experimentOf(path string) (folder, split string) {
	for dir := path; ; dir = filepath.Dir(dir) {
		parent := filepath.Dir(dir)
		experiment := filepath.Dir(parent)
		if filepath.Base(parent) == "splits" && isFile(filepath.Join(experiment, "report", stages.PageData)) {
			return experiment, filepath.Base(dir)
		}

		if parent == dir || parent == "." {
			return path, ""
		}
	}
}

// readPage reads the numbers of a report. It returns a *fault.Error if it cannot.
func readPage(path string) (*report.Detail, error) {
	detail, err := stages.ReadDetail(path)
	if err != nil {
		return nil, fault.At(path, "", "the numbers of a report", "another file, or a damaged one: "+err.Error(),
			"pipeline run makes it again")
	}

	return detail, nil
}

// isFile reports whether there is a regular file at path.
func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// Names returns the names of the figures.
func (p *Plots) Names() []string {
	var names []string
	for _, part := range p.parts {
		for _, name := range part.plots.Names() {
			names = append(names, part.prefix+name)
		}
	}

	return names
}

// maxListed is the number of figures up to which all are listed.
const maxListed = 40

// List returns the names of the figures of a kind. For the kind "" it returns the names of all figures, or a line for
// each kind if there are many figures. It returns nil if kind is the name of a figure, or neither a kind nor a figure.
func (p *Plots) List(kind string) []string {
	var kinds []string // the kind of each figure
	for _, part := range p.parts {
		kinds = append(kinds, part.plots.Kinds()...)
	}

	return listed(kind, p.source, p.Names(), kinds)
}

// listed is List for figures with these names and kinds.
func listed(kind, source string, names, kinds []string) []string {
	switch {
	case slices.Contains(names, kind):
		return nil
	case kind == "" && len(names) <= maxListed:
		return names
	}

	byKind := map[string][]string{}
	for i, k := range kinds {
		byKind[k] = append(byKind[k], names[i])
	}

	if kind != "" {
		return byKind[kind]
	}

	var lines []string
	for i, k := range kinds {
		figures := byKind[k]
		if figures[0] == names[i] { // the first of its kind
			lines = append(lines, fmt.Sprintf("%s: %s, as %s", k, fault.Plural(int64(len(figures)), "figure"), names[i]))
		}
	}

	return append(lines, "pipeline plot "+source+" KIND lists the figures of a kind")
}

// Draw returns a figure as the contents of a file. It returns a *fault.UsageError if no figure has the name.
func (p *Plots) Draw(name string, o report.PlotOptions) ([]byte, error) {
	for _, part := range p.parts {
		rest, ok := strings.CutPrefix(name, part.prefix)
		if ok && slices.Contains(part.plots.Names(), rest) {
			return part.plots.Draw(rest, o)
		}
	}

	return nil, &fault.UsageError{
		Text: "there is no figure " + name + " of " + p.source + spelling.DidYouMean(name, p.Names()) +
			"; pipeline plot " + p.source + " lists them",
	}
}
