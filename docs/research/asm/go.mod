// Generates the assembly of doubletake: a module of its own, so that the program does not depend on avo.
module doubletake/docs/research/asm

go 1.26.0

require github.com/mmcloughlin/avo v0.6.0

require (
	golang.org/x/mod v0.14.0 // indirect
	golang.org/x/tools v0.16.1 // indirect
)
