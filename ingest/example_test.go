package ingest_test

import (
	"fmt"

	"doubletake/ingest"
)

func ExampleFindChannel() {
	info := ingest.Info{Path: "run.csv", Channels: []ingest.Channel{{Name: "Time"}, {Name: "Fx"}}}
	fmt.Println(ingest.FindChannel(info, "fx"))
	// Output: 1 <nil>
}
