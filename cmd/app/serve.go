package app

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"doubletake/pipeline"
)

// runServe serves the page of a run until the program is interrupted, and prints its address.
func runServe(c *call) error {
	address := c.String("address")
	announce := func(url string, port int) {
		machine, err := os.Hostname()
		if err != nil {
			machine = "MACHINE" // the user knows it
		}

		host, _, _ := net.SplitHostPort(address) // cannot fail: Serve listens on this address
		fmt.Fprintf(c.stdout, "%s\nfrom another machine: ssh -N -L %d:%s %s\n", url, port,
			net.JoinHostPort(host, strconv.Itoa(port)), machine)
	}

	return pipeline.Serve(c.ctx, c.file(), address, announce)
}
