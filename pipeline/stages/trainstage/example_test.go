package trainstage_test

import (
	"fmt"

	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// The groups of a split are the values of the condition that it holds out, or of the first of several.
func ExampleHonestCondition() {
	settings := honest.Settings{Base: "gp"}
	blades := config.Split{Test: holdout.Values("blades", 3)}
	condition, _ := trainstage.HonestCondition(settings, blades, nil)
	fmt.Println(condition)
	corner := config.Split{Test: holdout.All(holdout.Values("blades", 3), holdout.Range("rpm", 5000, 9000))}
	condition, _ = trainstage.HonestCondition(settings, corner, nil)
	fmt.Println(condition)
	settings.Base = "pair"
	_, absent := trainstage.HonestCondition(settings, corner, nil)
	fmt.Println(absent)
	// Output:
	// blades
	// blades
	// the split holds out several conditions at once; name the one whose values are the groups with train.honest.groups
}
