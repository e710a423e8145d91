package predict

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/card"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// Verifier returns a function that checks files in the work directory around a path. The function returns an error if
// the files are not as they were written.
type Verifier func(location string) (check func(files ...string) error)

// Open reads the models at a path: a model.json, the folder of a split, whose networks predict together, or the folder
// of an experiment with a final model or a single split. Open returns a *fault.Error if a file is missing, damaged, or
// of another split, and the error of verify for a file that is not as it was written. If verify is nil, Open takes the
// files as they are.
func Open(path string, verify Verifier) (*Models, error) {
	files, err := modelFiles(path)
	if err != nil {
		return nil, err
	}

	m := new(Models)
	genuine := func(...string) error { return nil }
	if verify != nil {
		genuine = verify(files[0])
	}

	for _, file := range files {
		if err := genuine(file, filepath.Join(filepath.Dir(file), card.File)); err != nil {
			return nil, err
		}

		if err := m.add(file, files[0]); err != nil {
			return nil, err
		}
	}

	if err := genuine(m.HonestFile()); err != nil {
		return nil, err
	}

	if err := m.readHonest(); err != nil {
		return nil, err
	}

	if err := genuine(m.metricsFile()); err != nil {
		return nil, err
	}

	if err := m.readRecord(); err != nil {
		return nil, err
	}

	m.warn()

	return m, nil
}

// readHonest sets the calibrated model of the split, if there is one. It ignores the model of another split, which
// somebody copied there. It returns an error if the file is damaged, or is a model of other inputs and outcomes.
func (m *Models) readHonest() error {
	path := m.HonestFile()
	model, err := honest.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return fault.OfJSON(path, "the calibrated model of a split", err, report.RemakeHint)
	}

	if model.HeldOut != m.Card.HeldOut || model.Split != m.Card.Split {
		return nil
	}

	if model.Calibration != nil && !m.fits(model) {
		return fault.At(path, "", "a model of the inputs and outcomes of "+m.Paths[0], "another", "run the pipeline again")
	}

	m.Honest = model

	return nil
}

// fits reports whether a calibrated model has the inputs and outcomes of the networks.
func (m *Models) fits(model *honest.Model) bool {
	same := func(a honest.Input, b Input) bool { return a.Name == b.Name }
	return slices.EqualFunc(model.Inputs, m.Card.Inputs, same) && slices.Equal(model.Outcomes, m.Card.Outcomes)
}

// warn adds warnings about the data that the models were trained on.
func (m *Models) warn() {
	if m.Card.Data == "simulated" {
		m.Warnings = append(m.Warnings, "the model was trained on simulated data")
	}

	if m.Card.Couples {
		m.Warnings = append(m.Warnings, "the model was trained on couples (y2 = y1): its covariance estimates the total "+
			"variance, not the epistemic part")
	}
}

// add reads a model file and its card, and adds the network. It returns an error if the network is not of the same
// split as first, the first model file.
func (m *Models) add(path, first string) error {
	net := new(train.Model)
	err := readJSON(path, "a trained model", net)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.At(path, "", "a trained model", "none", "pipeline run trains it")
	}

	if err != nil {
		return err
	}

	description, err := readCard(filepath.Join(filepath.Dir(path), card.File), net)
	if err != nil {
		return err
	}

	if len(m.nets) == 0 {
		m.Card = description
	} else if !predictsAlike(description, m.Card) {
		return fault.At(path, "", "a model of the same inputs, outcomes and held-out set as "+first, "another",
			"name one split's folder, or one model.json")
	}

	m.Paths = append(m.Paths, filepath.ToSlash(path)) // with slashes, so that documents are the same on all systems
	m.nets = append(m.nets, net)
	m.estimates = append(m.estimates, description.Estimate)
	m.trained += description.AbsCov
	if description.AbsCov == 0 {
		m.trained = math.NaN()
	}

	return nil
}

// predictsAlike reports whether two models have the same inputs, outcomes and held-out set.
func predictsAlike(a, b Card) bool {
	sameInput := func(a, b Input) bool { return a.Name == b.Name }
	return slices.EqualFunc(a.Inputs, b.Inputs, sameInput) && slices.Equal(a.Outcomes, b.Outcomes) &&
		a.HeldOut == b.HeldOut
}

// modelFiles returns the model files that a path means: itself, those in the folder of a split or of a seed, or those
// that experimentFiles returns.
func modelFiles(path string) ([]string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		hint := "pipeline run writes runs/EXPERIMENT/splits/SPLIT/seed-K/model.json"
		if trained := trainedSplits(filepath.Dir(path)); trained != nil {
			hint = "the trained splits there are " + strings.Join(trained, ", ")
		}

		return nil, fault.At(path, "", "an experiment, EXPERIMENT/SPLIT, a folder with models or a model.json", "nothing",
			hint)
	}

	if !fi.IsDir() {
		return []string{path}, nil
	}

	if one := filepath.Join(path, "model.json"); isFile(one) {
		return []string{one}, nil
	}

	found := glob(path, "seed-*/model.json")
	if len(found) == 0 {
		return experimentFiles(path)
	}

	slices.SortFunc(found, func(a, b string) int { // seed-2 before seed-10
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})

	return found, nil
}

// experimentFiles returns the model files of the final model in the folder of an experiment, or of its split if there
// is only one.
func experimentFiles(path string) ([]string, error) {
	if final := finalModel(path); final != "" {
		return modelFiles(final)
	}

	var splits []string
	for _, file := range append(glob(path, "*/seed-*/model.json"), glob(path, "splits/*/seed-*/model.json")...) {
		splits = append(splits, filepath.Dir(filepath.Dir(file)))
	}

	splits = slices.Compact(splits)
	if len(splits) == 1 {
		return modelFiles(splits[0])
	}

	if len(splits) > 1 {
		return nil, fault.At(path, "", "a final model or a single split", fault.Plural(int64(len(splits)), "split"),
			"name one split: "+strings.Join(splits, ", ")+"; or add final: {test: none} below splits: and run again")
	}

	return nil, fault.At(path, "", "model.json, or seed-*/model.json", "none in the folder", "pipeline run trains some")
}

// trainedSplits returns the names of the splits with models in a folder of splits. It returns nil for other folders.
func trainedSplits(dir string) []string {
	if filepath.Base(dir) != "splits" {
		return nil
	}

	var names []string
	for _, file := range glob(dir, "*/seed-*/model.json") {
		names = append(names, filepath.Base(filepath.Dir(filepath.Dir(file))))
	}

	return slices.Compact(names)
}

// finalModel returns the split of an experiment's folder that holds nothing out, or "" if there is none.
func finalModel(path string) string {
	for _, file := range glob(path, "splits/*/seed-*/"+card.File) {
		var found Card
		if readJSON(file, "a model's card", &found) == nil && found.HeldOut == holdout.Nothing.String() {
			return filepath.Dir(filepath.Dir(file))
		}
	}

	return ""
}

// isFile reports whether there is a regular file at a path.
func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// glob returns the files below dir whose paths, relative to dir and with slashes, match a pattern.
func glob(dir, pattern string) []string {
	found, _ := fs.Glob(os.DirFS(dir), pattern) // it fails only for a malformed pattern
	for i, file := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(file))
	}

	return found
}

// readJSON reads a JSON file into target. It refuses files larger than a model file can be, because it reads them into
// memory. want says what the file should contain, for messages. The error is fs.ErrNotExist if it is missing, and
// otherwise a *fault.Error.
func readJSON(path, want string, target any) error {
	b, err := fault.ReadFile(path, train.MaxModelFile, want)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}

	if err != nil {
		return jsonFault(path, want, err)
	}

	if err := json.Unmarshal(b, target); err != nil {
		return jsonFault(path, want, err)
	}

	return nil
}

// jsonFault returns err as a *fault.Error of the file, unless it is one already.
func jsonFault(path, want string, err error) error {
	if _, known := errors.AsType[*fault.Error](err); known {
		return err
	}

	return fault.OfJSON(path, want, err, report.RemakeHint)
}

// readCard reads the card of a network. It returns an error if the card has another format, or other numbers of inputs
// or outcomes than the network.
func readCard(path string, net *train.Model) (Card, error) {
	var found Card
	err := readJSON(path, "a model's card", &found)
	if errors.Is(err, fs.ErrNotExist) {
		return found, fault.At(path, "", "the card of the model next to it, with names and units", "none",
			"copy them together")
	}

	if err != nil {
		return found, err
	}

	if found.Format != card.Format || found.Version != card.Version {
		return found, fault.At(path, "", fmt.Sprintf("format %s version %d", card.Format, card.Version),
			fmt.Sprintf("%q version %d", found.Format, found.Version), "")
	}

	if len(found.Inputs) != net.In || len(found.Outcomes) != net.Out {
		return found, fault.At(path, "", fmt.Sprintf("%d inputs and %d outcomes, as its model has", net.In, net.Out),
			fmt.Sprintf("%d and %d", len(found.Inputs), len(found.Outcomes)), "card and model are not of one training")
	}

	return found, nil
}
