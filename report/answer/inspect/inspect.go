// Package inspect describes a file without a configuration: a recording, a table or a model.
package inspect

import (
	"context"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/table"
	"doubletake/report/answer/predict"
)

// Description is what File found in a file. Exactly one of Recording, Table
// and Model is set.
type Description struct {
	Path      string     `json:"path"`
	Kind      string     `json:"kind"` // "recording", "table", "model"
	Bytes     int64      `json:"bytes"`
	Recording *Recording `json:"recording,omitempty"`
	Table     *Table     `json:"table,omitempty"`
	Model     *Model     `json:"model,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
}

// Model is a trained model, with its card.
type Model struct {
	predict.Card
	Paths        []string `json:"paths"`           // files of the networks, which predict together
	Conditions   []string `json:"conditions"`      // names that a condition may have besides the inputs
	Uncalibrated string   `json:"uncalibrated"`    // why there is no calibrated prediction; "" if there is one
	Level        float64  `json:"level,omitempty"` // probability of the calibrated intervals; 0 without them
}

// previewRows is the number of samples of a channel, or of rows of a table, that a description contains.
const previewRows = 5

// arrowMagic begins every Arrow file.
const arrowMagic = "ARROW1"

// File describes a recording or a table (.arrow), without a configuration; Models describes models. options help to
// read a recording that does not state its format. Faults of the file are *fault.Error.
func File(ctx context.Context, path string, options ingest.Options) (*Description, error) {
	info, err := os.Stat(path)
	if err != nil {
		return describeRecording(ctx, path, 0, options) // its error states why the file cannot be opened
	}

	size := info.Size()
	if !info.Mode().IsRegular() {
		_, err := fault.Regular(path)
		return nil, err
	}

	// An Arrow file is a table if this program wrote it; others are recordings. The file may come from anywhere, so its
	// structure is verified before it is read.
	if options.Format == "" && hasMagic(path, arrowMagic) {
		if t, err := table.ReadVerified(path); err == nil {
			return &Description{Path: path, Kind: "table", Bytes: size, Table: inspectTable(t)}, nil
		}
	}

	return describeRecording(ctx, path, size, options)
}

// describeRecording describes the recording at path, a file of the given size in bytes.
func describeRecording(ctx context.Context, path string, size int64, options ingest.Options) (*Description, error) {
	reader, err := format.Open(path, options)
	if err != nil {
		return nil, err
	}
	defer reader.Close()

	recording, warnings, err := inspectRecording(ctx, reader)
	if err != nil {
		return nil, err
	}

	description := &Description{Path: path, Kind: "recording", Bytes: size, Recording: recording}
	for _, warning := range warnings {
		description.Warnings = append(description.Warnings, warning.Text)
	}

	return description, nil
}

// namesModels reports whether a path is taken for models: a folder, or a file of JSON.
func namesModels(path string, info fs.FileInfo) bool {
	isJSON := info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(path), ".json")
	return info.IsDir() || isJSON
}

// Models describes trained models if the path names some: a model.json, or its folder. open opens them: a program that
// inspects often can keep them. For any other path, Models returns nil.
func Models(path string, open func() (*predict.Models, error)) (*Description, error) {
	info, err := os.Stat(path)
	if err != nil || !namesModels(path, info) {
		return nil, nil
	}

	models, err := open()
	if err != nil {
		return nil, err
	}

	return describeModels(path, info.Size(), models), nil
}

// describeModels describes models at path, a file or a folder of the given size in bytes.
func describeModels(path string, size int64, models *predict.Models) *Description {
	card := models.Card
	card.Conditions = nil // there may be many, and the model's own file lists them
	card.Inputs = slices.Clone(card.Inputs)
	for i, input := range card.Inputs {
		if math.IsInf(input.Min, 0) || math.IsInf(input.Max, 0) { // without a card the limits are unknown; JSON has no ∞
			card.Inputs[i].Min = 0
			card.Inputs[i].Max = 0
		}
	}

	model := &Model{
		Card: card, Paths: models.Paths, Conditions: append(models.Labels(), models.Sources()...),
		Uncalibrated: models.Uncalibrated(),
	}
	if model.Uncalibrated == "" {
		model.Level = models.Honest.Calibration.Level
	}

	return &Description{Path: path, Kind: "model", Bytes: size, Model: model, Warnings: models.Warnings}
}

// hasMagic reports whether a file begins with these bytes.
func hasMagic(path, magic string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(magic))
	n, _ := io.ReadFull(f, b)

	return string(b[:n]) == magic
}
