// Command pipeline turns raw physical measurements into models that state their own uncertainty. Package app is the
// program. A program of one's own calls app.Main with extensions.
package main

import (
	"os"

	"doubletake/cmd/app"
)

func main() { os.Exit(app.Main(app.Extensions{})) }
