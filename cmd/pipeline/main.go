// Command pipeline turns raw physical measurements into models that state their
// own uncertainty. Package app is the program; a program of one's own passes it extensions.
package main

import (
	"os"

	"doubletake/cmd/app"
)

func main() { os.Exit(app.Main(app.Extensions{})) }
