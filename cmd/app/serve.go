package app

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"doubletake/pipeline"
)

func runServe(c *call) error {
	return pipeline.Serve(c.ctx, c.file(), c.String("address"), func(url string, port int) {
		host, _ := os.Hostname()
		to, _, _ := net.SplitHostPort(c.String("address"))
		fmt.Fprintf(c.stdout, "%s\nfrom another machine: ssh -N -L %d:%s %s\n", url, port,
			net.JoinHostPort(to, strconv.Itoa(port)), host)
	})
}
