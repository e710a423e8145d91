package predict

import (
	"path/filepath"
	"strings"

	"doubletake/report"
	"doubletake/train/card"
	"doubletake/train/honest"
)

// This file names the files that models are read from.

// splitDir returns the folder of the split that the first model belongs to.
func (m *Models) splitDir() string {
	dir := filepath.Dir(m.Paths[0])
	if strings.HasPrefix(filepath.Base(dir), "seed-") {
		dir = filepath.Dir(dir)
	}

	return dir
}

// HonestFile returns the path of the split's calibrated model.
func (m *Models) HonestFile() string { return filepath.Join(m.splitDir(), honest.File) }

// Files returns the paths of all files that Open and derivation may have read, and of the folders that decide which
// files Open reads.
func (m *Models) Files() []string {
	split := m.splitDir()
	splits := filepath.Dir(split)
	paths := []string{m.HonestFile(), m.metricsFile(), m.tripletsFile(), split, splits, filepath.Dir(splits)}
	for _, name := range m.recordNames() {
		dir := filepath.Join(splits, name)
		paths = append(paths, filepath.Join(dir, honest.File), filepath.Join(dir, heldOutFile))
	}

	paths = append(paths, filepath.Join(split, heldOutFile))
	for _, path := range m.Paths {
		paths = append(paths, path, filepath.Join(filepath.Dir(path), card.File))
	}

	return paths
}

// metricsFile returns the path of the numbers of the experiment's report.
func (m *Models) metricsFile() string {
	return report.MetricsPath(filepath.Join(m.splitDir(), "..", ".."))
}

// tripletsFile returns the path of the pairs that the models were trained on.
func (m *Models) tripletsFile() string {
	return filepath.Join(m.splitDir(), "..", "..", "triplets.arrow")
}
