package trainstage_test

import (
	"fmt"

	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
)

// Each split has a task for each training.
func ExampleTrainID() {
	drone := plan.Experiment{Experiment: config.Experiment{Name: "drone"}}
	fmt.Println(trainstage.TrainID(drone, "3-blades", 0))
	// Output: drone/train/3-blades/seed-0
}
