package reportstage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// CardFile is the data card of an experiment.
const CardFile = "CARD.md"

// writeCard writes the data card of an experiment with the triplets tab.
func (x *experiment) writeCard(j *engine.Job, e report.Experiment, tab *table.Table) error {
	c := report.Card{Experiment: e, Exclude: x.exp.Ingest.Exclude, Tables: x.digests(j)}
	for _, p := range config.Flatten("", x.exp.About) {
		c.About = append(c.About, report.Fact{Name: p.Key, Value: p.Value})
	}

	for i := range tab.Columns {
		k := &tab.Columns[i]
		c.Columns = append(c.Columns, report.Column{
			Name: k.Name, Unit: k.Unit, Description: k.Description, Range: rangeOf(k.Floats),
		})
	}

	if x.ing.Index != nil {
		recs, err := table.Read(j.Input(x.ing.Index.Task, x.ing.Index.Output))
		if err != nil {
			return err
		}

		c.Files, c.Listing = rawFiles(recs)
	}

	if err := os.WriteFile(j.Output(CardFile), c.Markdown(), 0o644); err != nil {
		return fmt.Errorf("write data card: %w", err)
	}

	return nil
}

// rangeOf is the range of the numbers that are defined.
func rangeOf(v []float64) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, f := range v {
		if !math.IsNaN(f) {
			lo, hi = min(lo, f), max(hi, f)
		}
	}

	if lo > hi {
		return ""
	}

	return fmt.Sprintf("%.6g to %.6g", lo, hi)
}

// rawFiles lists the raw files of the recordings with their digests, and the digest
// of that list.
func rawFiles(recs *table.Table) (files []report.Fact, listing string) {
	name, sum := recs.Column("file"), recs.Column("sha256")
	if name == nil || sum == nil {
		return nil, ""
	}

	seen := map[string]bool{}

	var lines []string
	for i, f := range name.Strings {
		if f = filepath.ToSlash(f); !seen[f] {
			seen[f] = true
			files = append(files, report.Fact{Name: f, Value: sum.Strings[i]})
			lines = append(lines, sum.Strings[i]+"  "+f+"\n")
		}
	}

	slices.Sort(lines)

	h := sha256.New()
	for _, l := range lines {
		h.Write([]byte(l))
	}

	return files, hex.EncodeToString(h.Sum(nil))
}
