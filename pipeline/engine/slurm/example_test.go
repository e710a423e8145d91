package slurm_test

import (
	"fmt"

	"doubletake/pipeline/engine/slurm"
)

// A command before the program is split into words; nothing of it is left to a
// shell.
func ExampleWords() {
	words, err := slurm.Words(`module load "gcc 13"`)
	fmt.Printf("%q %v\n", words, err)
	_, err = slurm.Words("module load gcc; rm -r scratch")
	fmt.Println(err)
	// Output:
	// ["module" "load" "gcc 13"] <nil>
	// "module load gcc; rm -r scratch" is more than a command and its words: found ';'; put it into a script and name that: source setup.sh
}
