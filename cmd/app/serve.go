package app

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"doubletake/cmd/app/watch"
	"doubletake/pipeline/runs"
)

// runServe serves the page of a run until the program is interrupted, and prints its address.
func runServe(c *call) error {
	workdir, err := runs.Workdir(c.file())
	if err != nil {
		return err
	}

	address := c.String("address")
	server, err := watch.Listen(workdir, address)
	if err != nil {
		return err
	}

	machine, err := os.Hostname()
	if err != nil {
		machine = "MACHINE" // the user knows it
	}

	host, _, _ := net.SplitHostPort(address) // cannot fail: the server listens on this address
	fmt.Fprintf(c.stdout, "%s\nfrom another machine: ssh -N -L %d:%s %s\n", server.URL(), server.Port(),
		net.JoinHostPort(host, strconv.Itoa(server.Port())), machine)

	return server.Serve(c.ctx)
}
