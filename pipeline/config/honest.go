package config

// Honest calibrates predictions for groups of conditions that were never measured.
type Honest struct {
	Base    string  `key:"base" enum:"gp|gp-refit|pair|ensemble|prior-ensemble|none"`
	Form    string  `key:"form" enum:"auto|orders|conditions"`
	Groups  string  `key:"groups"`
	Blocks  int     `key:"blocks" default:"0"`
	Labels  bool    `key:"labels" default:"false"`
	Variant string  `key:"variant" enum:"auto|E|B|o|oE"`
	Level   float64 `key:"level"`
	Methods bool    `key:"methods" default:"false" omit:"zero"`
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
