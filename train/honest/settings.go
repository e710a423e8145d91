package honest

import "fmt"

// Settings choose the model that is calibrated, its groups, and the
// intervals that they teach. The comments of fields with a key are its documentation in
// configuration files.
type Settings struct {
	// model that is calibrated: gp, an additive Gaussian process; pair, the networks that are given their own
	// prediction; ensemble; or none. Networks are trained again for each left-out group
	Base string `key:"base" enum:"gp|pair|ensemble|none"`

	// gp: a row for each condition, or for each harmonic of a rotor over its shaft order; auto:
	// orders where the outcomes are levels of harmonics
	Form string `key:"form" enum:"auto|orders|conditions"`

	// condition whose values are the groups, or a column of text, such as names of propellers; empty: the one
	// that a split holds out
	Groups string `key:"groups"`

	// cut the condition into this many blocks of neighbouring values; 0: the blocks of the split, or every
	// value is a group, or 8 blocks of a continuous condition
	Blocks int `key:"blocks" default:"0"`

	// the values are numbers of things (propellers, days) without distances between them, as names are anyway, and, unless
	// groups names them, those of an input that decides another, which turns at least twice as it rises
	Labels bool `key:"labels" default:"false"`

	// level of the intervals: the share of the values of new groups that they contain
	Level float64 `key:"level"`

	// what is known before any group is left out: wide; library, narrower, from 20 campaigns; or the file that
	// pipeline honest library has made of your own
	Prior string `key:"prior"`

	// what tells by how much a new group's errors exceed the claims: plain, the left-out groups; ecov, also the rise of
	// E|cov| of the networks, which are trained again without each group
	Scale string `key:"scale" enum:"plain|ecov"`

	// what the level is meant for: values, that share of all values; groups, nearly all groups with 90 % of
	// their values within, for which intervals have the level 0.98 at least
	Hold string `key:"hold" enum:"values|groups"`
}

// DefaultSettings returns the settings that a configuration without others has.
func DefaultSettings() Settings {
	return Settings{Base: "gp", Form: "auto", Level: 0.95, Prior: "wide", Scale: "plain", Hold: "values"}
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

	if s.Prior == "" {
		fail("prior", "expected wide, library or a file, found nothing")
	}

	if s.Form != "auto" && s.Base != "gp" {
		fail("form", "belongs to base: gp, found base: "+s.Base)
	}

	if s.Scale == "ecov" && s.Base != "gp" {
		fail("scale", "belongs to base: gp, found base: "+s.Base)
	}

	if s.Blocks != 0 && s.Labels {
		fail("labels", fmt.Sprintf("belongs to single values, found blocks: %d", s.Blocks))
	}
}
