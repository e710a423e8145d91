package job_test

import (
	"fmt"
	"strings"

	"doubletake/pipeline/engine/job"
)

// ExampleWords splits a command into words. A command that only a shell understands is an error.
func ExampleWords() {
	words, err := job.Words(`module load "gcc 13"`)
	fmt.Printf("%q %v\n", words, err)
	_, err = job.Words("module load gcc; rm -r scratch")
	fmt.Println(strings.ReplaceAll(err.Error(), "; put", ";\nput"))
	// Output:
	// ["module" "load" "gcc 13"] <nil>
	// "module load gcc; rm -r scratch" is more than a command and its words: found ';';
	// put it into a script and name that: source setup.sh
}
