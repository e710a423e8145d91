package experiment_test

import (
	"fmt"

	"doubletake/train/experiment"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// The groups of a split are the values of the condition that it holds out, or of the first of several.
func ExampleHonestCondition() {
	settings := honest.Settings{Base: "gp"}
	blades := experiment.Split{Test: holdout.Values("blades", 3)}
	condition, _ := experiment.HonestCondition(settings, blades, nil)
	fmt.Println(condition)
	corner := experiment.Split{Test: holdout.All(holdout.Values("blades", 3), holdout.Range("rpm", 5000, 9000))}
	condition, _ = experiment.HonestCondition(settings, corner, nil)
	fmt.Println(condition)
	settings.Base = "pair"
	_, absent := experiment.HonestCondition(settings, corner, nil)
	fmt.Println(absent)
	// Output:
	// blades
	// blades
	// the split holds out several conditions at once; name the one whose values are the groups with train.honest.groups
}
