package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"doubletake/pipeline/engine"
)

// beat is the time between two signs of life of a worker.
const beat = 2 * time.Second

// lifeFile is the name of the file with the sign of life of a worker, in the part's folder.
const lifeFile = "alive.json"

// life is the sign of life of a worker. The worker rewrites its file with another number at every beat, so that the
// driver sees the change without comparing the clocks of two machines.
type life struct {
	Node    string `json:"node"`
	PID     int    `json:"pid"`
	Beat    int    `json:"beat"`
	Ended   bool   `json:"ended,omitempty"`
	Stopped bool   `json:"stopped,omitempty"` // a signal ended it
}

// pulse writes the signs of life of this process until stop is called.
type pulse struct {
	dir   string // the part's folder
	life  life
	quit  chan struct{}
	ended chan struct{}
}

// startPulse writes the first sign of life and starts a goroutine that writes the others.
func startPulse(dir, node string) *pulse {
	p := &pulse{
		dir: dir, life: life{Node: node, PID: os.Getpid()}, quit: make(chan struct{}), ended: make(chan struct{}),
	}
	p.write()

	go p.run()

	return p
}

// run writes a sign of life at every beat.
func (p *pulse) run() {
	defer close(p.ended)
	ticker := time.NewTicker(beat)
	defer ticker.Stop()

	for {
		select {
		case <-ticker.C:
			p.life.Beat++
			p.write()
		case <-p.quit:
			return
		}
	}
}

// write writes a sign of life. An error is dropped: the next beat tries again, and the driver takes a worker for dead
// only after many beats.
func (p *pulse) write() {
	data, err := json.Marshal(p.life)
	if err == nil {
		_ = engine.WriteFile(filepath.Join(p.dir, lifeFile), data)
	}
}

// stop writes the last sign of life. The worker was stopped by a signal if ctx is cancelled.
func (p *pulse) stop(ctx context.Context) {
	close(p.quit)
	<-p.ended
	p.life.Ended = true
	p.life.Stopped = ctx.Err() != nil
	p.write()
}

// readLife reads the sign of life in a part's folder. ok is false if there is none, or if it cannot be read.
func readLife(dir string) (sign life, ok bool) {
	data, err := os.ReadFile(filepath.Join(dir, lifeFile))
	if err != nil {
		return life{}, false
	}

	if err := json.Unmarshal(data, &sign); err != nil {
		return life{}, false
	}

	return sign, true
}
