package honest

import "fmt"

// Settings choose the model that is calibrated, its groups, and the form of the
// covariance that they teach. The comments of fields with a key are its documentation in
// configuration files.
type Settings struct {
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

// DefaultSettings returns the settings that a configuration without others has.
func DefaultSettings() Settings {
	return Settings{Base: "gp", Form: "auto", Variant: "auto", Level: 0.95}
}

const maxBlocks = 1000

// Check calls fail for every setting outside its limits, with its key and a text
// "expected …, found …".
func (s Settings) Check(fail func(setting, text string)) {
	if !(s.Level > 0.5 && s.Level < 1) {
		fail("level", fmt.Sprintf("expected a level above 0.5 and below 1, found %g", s.Level))
	}

	if s.Blocks != 0 && (s.Blocks < 2 || s.Blocks > maxBlocks) {
		fail("blocks", fmt.Sprintf("expected 2 to %d blocks, or 0, found %d", maxBlocks, s.Blocks))
	}

	if s.Form != "auto" && s.Base != "gp" && s.Base != "gp-refit" {
		fail("form", "belongs to base: gp or gp-refit, found base: "+s.Base)
	}

	if s.Blocks != 0 && s.Labels {
		fail("labels", fmt.Sprintf("belongs to single values, found blocks: %d", s.Blocks))
	}
}
