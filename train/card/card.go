// Package card describes trained networks: the card of a network lies beside its file, which contains only numbers, and
// says what the network maps and on which data it was trained.
package card

import "doubletake/train/honest"

// File is the name of a card's file. It lies in the folder of the network's model.json.
const File = "card.json"

// Format and Version identify a card.
const (
	Format  = "doubletake-card"
	Version = 1
)

// Card describes a model.json. The file of a network contains only numbers; its card contains the names and units of
// inputs and outcomes, the measured conditions and the conditions that were held out.
type Card struct {
	Format     string    `json:"format"`
	Version    int       `json:"version"`
	Program    string    `json:"program"`
	Experiment string    `json:"experiment"`
	Data       string    `json:"data"`    // "simulated" or "measured"
	Pairs      string    `json:"pairs"`   // "same-run", "repeat-run", "synthetic"
	Couples    bool      `json:"couples"` // y2 is y1 by construction: one draw is used twice
	Split      string    `json:"split"`
	HeldOut    string    `json:"held_out"`
	Seed       int       `json:"seed"` // number of the training, from 0
	Config     string    `json:"config_digest"`
	Triplets   int       `json:"training_triplets"`
	Inputs     []Input   `json:"inputs"`
	Outcomes   []Outcome `json:"outcomes"`
	Estimate   Estimate  `json:"estimate"`
	// Record names the splits whose held-out values judge the model. It is empty if the model's own split holds something
	// out.
	Record []string `json:"record_of_splits,omitempty"`

	// Conditions are the distinct training conditions as rows of inputs, in the order of their numbers. It is empty if
	// there are too many to list.
	Conditions [][]float64 `json:"training_conditions,omitempty"`

	// AbsCov is E|cov| on the training conditions, as the metrics of a report have it.
	AbsCov float64 `json:"abs_cov,omitempty"`
}

// The quantities that a model maps.
type (
	// Input is a condition that the model takes.
	Input = honest.Input

	// Outcome is a quantity that the model predicts.
	Outcome = honest.Outcome
)

// Estimate contains the settings with which the raw covariance of the model's predictions is estimated.
type Estimate struct {
	Samples int    `json:"samples"`
	Sampler string `json:"sampler"`
	Seed    uint64 `json:"seed"`
}
