package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"doubletake/report"
	"doubletake/train/score"
)

const tiny = `version: 1
workdir: runs/study
experiments:
  toy-1.5:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5, triplets: 150}}
    train: &small
      inputs: [x]
      standardise: false
      model: {hidden: [16, 16]}
      optimizer: {epochs: 15}
      seeds: 2
      compare: [mc-dropout, gp]
      splits: {outside: {test: {x: {min: 5}}}, gap: {test: {x: {min: 2, max: 4}}}}
  couples-1.5:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5, triplets: 150}}
    dsp: {couples: true}
    train: *small
  airfoil:
    ingest: {simulate: {campaign: airfoil, seed: 1, duration_s: 1, alpha_deg: [-4, 0, 4, 8], u_inf_m_s: [4.7, 9, 14]}}
    dsp: {triplets: random-samples, samples: 20, chord_m: 0.10, span_m: 0.25, density_kg_m3: 1.204}
    train:
      inputs: [alpha_deg, u_inf_m_s]
      model: {hidden: [16, 16]}
      optimizer: {epochs: 10}
      seeds: 2
      compare: [zigzag, gp]
      splits: {low-speed: {test: {u_inf_m_s: {near: 4.7, within: 0.1}}}}
`

// The document of a small configuration: every part of it is there, its numbers
// are those of metrics.json, and it is the same bytes when nothing changed.
func TestStudyOfSmallConfiguration(t *testing.T) {
	dir := t.TempDir()
	config, output := filepath.Join(dir, "small.yaml"), filepath.Join(dir, "small.md")
	if err := os.WriteFile(config, []byte(tiny), 0o644); err != nil {
		t.Fatal(err)
	}
	few := []campaign{
		{
			"airfoil",
			[]string{"alpha_deg", "u_inf_m_s"},
			[]string{"cl", "cd"},
			[]string{"alpha_deg", "u_inf_m_s"},
			"u_inf_m_s",
			4, 4, 1, 2,
			3, 2, 2, 5,
		},
		{"drone", nil, nil, nil, "", 0, 0, 0, 0, 0, 0, 0, 0}, // not of this configuration
	}
	var first []byte
	for range 2 {
		if err := study(t.Context(), config, output, few, io.Discard); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(raw, first) {
			t.Error("the second run wrote another document")
		}
		first = raw
	}
	doc := string(first)
	for _, want := range []string{
		digestLine([]byte(tiny)), "**All data here are simulated**, but for those that are called measured",
		"## The paper's claims", "## Toy",
		"Methods compared on toy-1.5",
		"Methods compared on what gap holds out", "## Airfoil", "20 pairs are drawn of each run, where the paper drew 250",
		"On the training conditions of γ = 1.5", "### airfoil: 4 runs to start with, 1 rounds of 2, 3 to judge by, 2 " +
			"repeats, 2 networks",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("the document lacks %q", want)
		}
	}
	if strings.Contains(doc, "## Drone") || regexp.MustCompile(`NaN|%!|\+Inf`).MatchString(doc) {
		t.Errorf("the document has texts that must not be there:\n%s", doc)
	}
	// Expected values: metrics.json, read independently of the generator.
	raw, err := os.ReadFile(filepath.Join(dir, "runs/study/toy-1.5/report/metrics.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Splits []struct {
			Name string
			Test struct {
				R2 struct{ Mean, Std float64 }
			}
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil || len(m.Splits) != 2 {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, s := range m.Splits {
		if want := "| " + report.Cell(score.Value{Mean: s.Test.R2.Mean, Std: s.Test.R2.Std, N: 2}, 1) +
			" |"; !strings.Contains(doc, want) {
			t.Errorf("split %s: the document does not hold its R² %s", s.Name, want)
		}
	}
}

// The section on intervals stands before that of measured data, is replaced by a
// second run, holds the numbers of metrics.json, and names what failed or has none.
func TestIntervals(t *testing.T) {
	const config = `version: 1
workdir: runs
experiments:
  toy-gp:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5, triplets: 150}}
    train:
      inputs: [x]
      standardise: false
      model: {hidden: [4]}
      optimizer: {epochs: 1}
      seeds: 1
      splits: {outside: {test: {x: {min: 5}}}, gap: {test: {x: {min: 2, max: 4}}}}
  toy-ensemble:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5, triplets: 150}}
    train:
      inputs: [x]
      standardise: false
      model: {hidden: [4]}
      optimizer: {epochs: 5}
      seeds: 1
      members: 2
      honest: {base: ensemble, blocks: 3}
      splits: {outside: {test: {x: {min: 2}}}}
`
	dir := t.TempDir()
	path, output := filepath.Join(dir, "intervals.yaml"), filepath.Join(dir, "study.md")
	before, after := "# Study\n\n## Suggest\n\nx\n\n", measuredHead+"\ny\n"
	for _, f := range [][2]string{{path, config}, {output, before + after}} {
		if err := os.WriteFile(f[0], []byte(f[1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x := intervalSections[0]
	x.config = path
	var doc string
	for range 2 {
		if err := writeIntervals(t.Context(), x, output, io.Discard); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		if doc != "" && doc != string(raw) {
			t.Error("the second run wrote another document")
		}
		doc = string(raw)
	}
	if !strings.HasPrefix(doc, before+x.head) || !strings.HasSuffix(doc, "\n"+after) {
		t.Errorf("the section has another place:\n%s", doc)
	}
	x.data = filepath.Join(dir, "elsewhere") // a section whose data are not here is kept
	if err := os.WriteFile(output, []byte(before+after), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := x.renew(t.Context(), output, []byte(doc), true, io.Discard); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(output); err != nil || string(kept) != doc {
		t.Errorf("the section was not kept, %v:\n%s", err, kept)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "runs/toy-gp/report/metrics.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Splits []struct {
			Honest struct {
				Before float64 `json:"coverage_95_before"`
				After  float64 `json:"coverage_95_t"`
				R2     float64
				K      int
			}
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil || len(m.Splits) != 2 {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, s := range m.Splits {
		h := s.Honest
		want := fmt.Sprintf("| gp | %d | %.3f | %.2f → %.2f |", h.K, h.R2, h.Before, h.After)
		if !strings.Contains(doc, want) {
			t.Errorf("no %q in\n%s", want, doc)
		}
	}
	for _, want := range []string{"**Failures.**", "Without an interval:", "found 2; not checked on a new group"} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %q in\n%s", want, doc)
		}
	}
}

// docs/study.md is that of docs/study.yaml and of the configurations of intervals.
func TestCommittedStudy(t *testing.T) {
	doc, err := os.ReadFile("../../docs/study.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, command string }{
		{"study.yaml", ""}, {"intervals.yaml", " -intervals"}, {"intervals-refit.yaml", " -refitted"},
	} {
		config, err := os.ReadFile("../../docs/" + c.name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(doc, []byte(digestLine(config))) {
			t.Errorf("docs/study.md was written from another docs/%s; run go run ./cmd/study%s", c.name, c.command)
		}
	}
}
