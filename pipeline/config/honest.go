package config

// Honest calibrates predictions for groups of conditions that were never measured.
type Honest struct {
	// model that is calibrated: gp, an additive Gaussian process; gp-refit, the same with its own
	// hyperparameters without each group; pair, the networks that are given their own prediction; ensemble;
	// prior-ensemble, with random functions of opposite signs; or none. gp-refit and networks are trained
	// again for each left-out group
	Base string `key:"base" enum:"gp|gp-refit|pair|ensemble|prior-ensemble|none"`

	// gp, gp-refit: a row for each condition, or for each harmonic of a rotor over its shaft order; auto:
	// orders where the outcomes are levels of harmonics
	Form string `key:"form" enum:"auto|orders|conditions"`

	// condition whose values are the groups; empty: the one that a split holds out
	Groups string `key:"groups"`

	// cut the condition into this many blocks of neighbouring values; 0: every value is a group, or 8 blocks
	// of a continuous condition
	Blocks int `key:"blocks" default:"0"`

	// the values are numbers of things (propellers, days) without distances between them
	Labels bool `key:"labels" default:"false"`

	// form of the covariance: E grows with the distance to the measured groups, B also with the model's own
	// claim, o and oE are learned on top of that claim; auto: E for gp, B for pair and ensemble, oE for
	// gp-refit and prior-ensemble
	Variant string `key:"variant" enum:"auto|E|B|o|oE"`

	// level of the intervals
	Level float64 `key:"level"`

	// calibrate the methods of compare and the networks too, each on its own trainings without one group each,
	// for the comparison table; takes as many trainings again as there are training groups
	Methods bool `key:"methods" default:"false" omit:"zero"`
}

func (h *Honest) validate(key string, fail func(key, format string, args ...any)) {
	if !(h.Level > 0.5 && h.Level < 1) {
		fail(key+".level", "expected a level above 0.5 and below 1, found %g", h.Level)
	}
	if h.Blocks != 0 && (h.Blocks < 2 || h.Blocks > maxBlocks) {
		fail(key+".blocks", "expected 2 to %d blocks, or 0, found %d", maxBlocks, h.Blocks)
	}
	if h.Form != "auto" && h.Base != "gp" && h.Base != "gp-refit" {
		fail(key+".form", "belongs to base: gp or gp-refit, found base: %s", h.Base)
	}
	if h.Blocks != 0 && h.Labels {
		fail(key+".labels", "belongs to single values, found blocks: %d", h.Blocks)
	}
}

func defaultHonest() Honest { return Honest{Base: "gp", Form: "auto", Variant: "auto", Level: 0.95} }
