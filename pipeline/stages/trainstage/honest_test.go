package trainstage

import (
	"testing"

	"doubletake/pipeline/config"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// The groups of a split are those of its condition, or of the one that is named.
func TestHonestCondition(t *testing.T) {
	for _, c := range []struct {
		h    honest.Settings
		test holdout.Holdout
		want string
	}{
		{honest.Settings{Base: "none"}, holdout.Values("blades", 2), ""},
		{honest.Settings{Base: "gp"}, holdout.Values("blades", 2), "blades"},
		{honest.Settings{Base: "gp", Groups: "rpm"}, holdout.Values("blades", 2), "rpm"},
		{honest.Settings{Base: "gp"}, holdout.All(holdout.Values("blades", 2), holdout.Values("rpm", 1)), "blades"},
		{honest.Settings{Base: "pair"}, holdout.All(holdout.Values("blades", 2), holdout.Values("rpm", 1)), ""},
	} {
		condition, absent := HonestCondition(c.h, config.Split{Test: c.test}, nil)
		if condition != c.want || (absent == "") != (c.want != "") {
			t.Errorf("%+v: %q, %q; expected %q", c.h, condition, absent, c.want)
		}
	}
}
