package report

import (
	"fmt"
	"os"
	"path/filepath"
)

// Names of the tables of a report for people.
const (
	TablesMarkdown = "tables.md"
	TablesLaTeX    = "tables.tex"
)

// WriteFiles writes the numbers of a report for programs and its tables for people. path returns the path of the file
// with a name.
func (e Experiment) WriteFiles(path func(name string) string) error {
	metrics, err := e.MetricsJSON()
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}

	files := map[string][]byte{MetricsFile: metrics, TablesMarkdown: Markdown(e), TablesLaTeX: LaTeX(e)}
	for name, body := range files {
		if err := os.WriteFile(path(name), body, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}

	return nil
}

// WriteFigures writes the drawing and the numbers of each figure into a folder, which it makes.
func WriteFigures(dir string, list []FigureFile) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}

	for _, f := range list {
		name := filepath.Join(dir, f.File)
		if err := os.WriteFile(name+".svg", f.SVG, 0o644); err != nil {
			return fmt.Errorf("write figures: %w", err)
		}

		if err := os.WriteFile(name+".csv", f.CSV, 0o644); err != nil {
			return fmt.Errorf("write figures: %w", err)
		}
	}

	return nil
}
