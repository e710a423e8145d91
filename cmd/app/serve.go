package app

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newServeCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "show a run and its results in a browser, while it runs or after", ArgsUsage: "[FILE]",
		Description: "FILE is a configuration, pipeline.yaml by default, or a work directory. The page shows what is made " +
			"where, the time left, failures, losses, verdicts and the report. It is read from the work directory alone, so " +
			"the run may be on any machine, by any executor, or over; serve changes nothing there.\n\n" +
			"The page is for those who have its address: the path holds a key. On another machine, run the ssh line that is " +
			"printed, then open the address. Ctrl-C ends.\n\n" +
			"Example: pipeline serve pipeline.yaml\n\n" +
			"Exit status: 0 success (ended by Ctrl-C), 1 failed, 2 usage or configuration error.",
		Flags: []cli.Flag{
			&cli.StringFlag{
				Name: "address", Value: "127.0.0.1:0",
				Usage: "host and port to listen on; port 0 is any that is free",
			},
		},
		Action: onFile(func(c *cli.Context, file string) error {
			return pipeline.Serve(c.Context, file, c.String("address"), func(url string, others []string, port int) {
				fmt.Fprintln(stdout, url)

				if len(others) == 0 {
					host, _ := os.Hostname()
					to, _, _ := net.SplitHostPort(c.String("address"))
					fmt.Fprintf(stdout, "from another machine: ssh -N -L %d:%s %s\n", port,
						net.JoinHostPort(to, strconv.Itoa(port)), host)

					return
				}

				for _, u := range others {
					fmt.Fprintln(stdout, "from another machine: "+u)
				}

				fmt.Fprintln(stdout, "warning: it is not encrypted, and whoever on the network sees the address can read the page")
			})
		}),
	}
}
