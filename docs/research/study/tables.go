package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"doubletake/report"
	"doubletake/train/score"
)

// sheet is a table that becomes a CSV file.
type sheet struct {
	head []string
	rows [][]string
}

func (s *sheet) add(cells ...string) { s.rows = append(s.rows, cells) }

// write writes the sheet to the file of that name among the tables.
func (s *sheet) write(tables, name string) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)

	if err := w.WriteAll(append([][]string{s.head}, s.rows...)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}

	return os.WriteFile(filepath.Join(tables, name+".csv"), b.Bytes(), 0o644)
}

// readSheet reads a table. A file that is not there is an empty table.
func readSheet(tables, name string) (*sheet, error) {
	b, err := os.ReadFile(filepath.Join(tables, name+".csv"))
	if os.IsNotExist(err) {
		return &sheet{}, nil
	}

	if err != nil {
		return nil, err
	}

	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("read %s.csv: %d rows: %w", name, len(rows), err)
	}

	return &sheet{rows[0], rows[1:]}, nil
}

// sources names the tables' files that state where the other tables come from.
const sources = "sources"

// source notes in sources.csv that a table was made from a configuration, by which kernels.
func source(tables, table, config, kernels string) error {
	raw, err := os.ReadFile(config)
	if err != nil {
		return err
	}

	s, err := readSheet(tables, sources)
	if err != nil {
		return err
	}

	s.head = []string{"table", "configuration", "sha256", "kernels"}
	row := []string{table, filepath.ToSlash(config), fmt.Sprintf("%x", sha256.Sum256(raw)), kernels}
	s.rows = slices.DeleteFunc(s.rows, func(old []string) bool { return old[0] == row[0] && old[1] == row[1] })
	s.add(row...)
	slices.SortFunc(s.rows, slices.Compare)

	return s.write(tables, sources)
}

// cells are the mean of a value and its standard deviation over the seeds; "" where there
// is none.
func cells(v score.Value) []string {
	if !v.Defined() {
		return []string{"", ""}
	}

	if v.N == 1 {
		return []string{digits(v.Mean, 6), ""}
	}

	return []string{digits(v.Mean, 6), digits(v.Std, 3)}
}

// digits writes a number with that many significant digits.
func digits(v float64, n int) string { return strconv.FormatFloat(v, 'g', n, 64) }

// quantity is a number of a split's part or of a method, with its column.
type quantity struct{ key, column string }

// withSD are the columns of quantities, each with that of its standard deviation.
func withSD(list []quantity, suffix string) (head []string) {
	for _, q := range list {
		head = append(head, q.column+suffix, q.column+suffix+"_sd")
	}
	return head
}

var (
	ofBothParts = []quantity{{"r2", "r2"}, {"abs_cov", "abs_cov"}, {"cov_centred", "c"}, {"mu_delta", "abs_mu_delta"}}
	ofTestPart  = []quantity{
		{"e", "e"},
		{"e_se", "e_se"},
		{"sum_e_ratio", "sum_e_ratio"},
		{"sum_e_ratio_se", "sum_e_ratio_se"},
		{"noise_ceiling", "noise_ceiling"},
	}
	ofMethods = []quantity{
		{"r2", "r2"},
		{"e", "e"},
		{"nll", "nll"},
		{"crps", "crps"},
		{"coverage68", "in_68"},
		{"coverage95", "in_95"},
		{"width95", "width_95"},
		{"ence", "ence"},
		{"ence_ref", "ence_if_calibrated"},
		{"ence_ref95", "ence_95_below"},
		{"sum_e_ratio", "sum_e_ratio"},
		{"sum_e_ratio_se", "sum_e_ratio_se"},
		{"square", "square"},
		{"qlike", "qlike"},
		{"floored", "floored"},
		{"sum_e_ratio_scaled", "sum_e_ratio_scaled"},
		{"coverage95_scaled", "in_95_scaled"}, // of the stored table: runs have neither
	}
)

// splits is the table of the held-out sets of experiments: the numbers of the pair network
// on the training and the test part, in standardised units where the training is.
func splits(all []report.Experiment) *sheet {
	s := &sheet{head: []string{"experiment", "split", "held_out", "reach"}}
	s.head = append(s.head, withSD(ofBothParts, "_train")...)
	s.head = append(s.head, withSD(ofBothParts, "_test")...)
	s.head = append(s.head, withSD(ofTestPart, "_test")...)

	for _, e := range all {
		for _, split := range e.Splits {
			row := []string{e.Name, split.Name, split.HeldOut, split.Reach}
			for _, q := range ofBothParts {
				row = append(row, cells(split.Train.Get(q.key))...)
			}

			for _, q := range append(ofBothParts[:len(ofBothParts):len(ofBothParts)], ofTestPart...) {
				row = append(row, cells(split.Test.Get(q.key))...)
			}

			s.add(row...)
		}
	}

	return s
}

// methods is the table of the methods compared on held-out sets: each one's scores, its
// place by CRPS, and the stored scores that are scaled by left-out groups.
func methodScores(all []report.Experiment) *sheet {
	s := &sheet{head: []string{
		"experiment", "split", "method", "converged", "place", "crps_above_best", "crps_above_best_se",
	}}
	s.head = append(s.head, withSD(ofMethods, "")...)

	for _, e := range all {
		for _, split := range e.Splits {
			for _, m := range split.Methods {
				row := []string{e.Name, split.Name, m.Method, "yes"}
				if m.Doubt != "" {
					row[3] = "no"
				}

				row = append(row, place(split.Ranking, m.Method)...)
				for _, q := range ofMethods {
					row = append(row, cells(m.Get(q.key))...)
				}

				s.add(row...)
			}
		}
	}

	return s
}

// place is the place of a method by CRPS, how far it is above the best, and the standard
// error of that; "" where it is not ranked.
func place(ranking []report.Ranked, method string) []string {
	for i, r := range ranking {
		switch {
		case r.Method != method:
			continue
		case i == 0:
			return []string{r.Standing, "0", "0"}
		}

		return []string{r.Standing, digits(r.Above, 4), digits(r.SE, 3)}
	}

	return []string{"", "", ""}
}

// diagnostics is the table of the identities of the theory that the networks violate.
func diagnostics(all []report.Experiment) *sheet {
	s := &sheet{head: []string{"experiment", "split", "violated"}}
	for _, e := range all {
		for _, split := range e.Splits {
			for _, f := range split.Flags {
				s.add(e.Name, split.Name, fmt.Sprint(f))
			}
		}
	}

	return s
}
