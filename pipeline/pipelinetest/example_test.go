package pipelinetest_test

import (
	"fmt"
	"os"
	"path/filepath"

	"doubletake/pipeline"
	"doubletake/pipeline/pipelinetest"
)

func ExampleRun() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	err = pipelinetest.Run(dir, map[string]string{
		"pairs.csv": "run,a,y_1,y_2\nr1,1,2,3\nr2,2,3,4\n",
		"pipeline.yaml": "version: 1\nexperiments:\n" +
			"  wing: {ingest: {table: {file: pairs.csv, inputs: [a], run: run}}}\n",
	}, pipeline.Options{Jobs: 1})

	triplets, _ := filepath.Glob(filepath.Join(dir, "runs", "wing", "trip*.arrow"))
	fmt.Println(err, len(triplets))
	// Output: <nil> 1
}
