package app

import (
	"os"
	"os/signal"
	"syscall"
)

// onSecondInterrupt calls f when the program is interrupted a second time; done
// ends the watch.
func onSecondInterrupt(f func()) (done func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	end := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-signals:
				if n == 2 {
					f()
				}

			case <-end:
				return
			}
		}
	}()

	return func() { signal.Stop(signals); close(end) }
}
