package kernel_test

import (
	"fmt"

	"doubletake/pipeline/engine/kernel"
)

// Expected values: head -c 1000 /dev/zero | sha256sum, and of 2000.
func ExamplePair() {
	messages := [][]byte{make([]byte, 1000), make([]byte, 2000)}

	p := kernel.NewPair()
	n := p.Write(messages[0], messages[1])

	for i, m := range messages {
		h := p.Hash(i)
		h.Write(m[n:])
		fmt.Printf("%x\n", h.Sum(nil))
	}
	// Output:
	// 541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53
	// 2da42fb1d7bd8524e83d5a1e332bad697c8769ba430770a19bec630eb8ffcaa8
}
