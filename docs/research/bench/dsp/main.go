// Command bench measures what the signal path costs on this machine: the
// statistics and the analysis of recordings, from files in the page cache, and
// the transform alone. bench.py runs the Python peers in the same session;
// docs/performance.md has the results.
//
//	go run ./bench/dsp -what analyse FILE.wav …
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/stats"
)

func main() {
	what := flag.String("what", "analyse", "analyse (Welch, speed, harmonics), scan (statistics), read (decoding "+
		"alone) or fft")
	repeat := flag.Int("repeat", 5, "times over all files")
	jobs := flag.Int("jobs", 1, "files at a time")
	rate := flag.Float64("rate", 51200, "sampling rate where the file states none")
	blades := flag.Int("blades", 2, "blades of the rotor")
	rpm := flag.Float64("rpm", 6000, "speed of the rotor")
	length := flag.Int("n", 51200, "points of the transform")
	profile := flag.String("cpuprofile", "", "write a CPU profile there")
	flag.Parse()
	runtime.GOMAXPROCS(max(*jobs, 1))

	if *profile != "" {
		f, err := os.Create(*profile)
		fatal(err)
		fatal(pprof.StartCPUProfile(f))
		defer pprof.StopCPUProfile()
	}

	if *what == "fft" {
		transform(*length, *repeat)
		return
	}

	// As in the pipeline, plans and buffers are made once and used for file after file.
	analysers := make([]*dsp.Analyser, max(*jobs, 1))
	for i := range analysers {
		analysers[i] = dsp.NewAnalyser()
	}

	for range *repeat {
		before, start := user(), time.Now()
		var bytes int64
		var wg sync.WaitGroup

		todo := make(chan string, flag.NArg())
		for _, p := range flag.Args() {
			st, err := os.Stat(p)
			fatal(err)
			bytes += st.Size()
			todo <- p
		}

		close(todo)

		for _, a := range analysers {
			wg.Go(func() {
				for p := range todo {
					one(a, p, *what, *rate, *blades, *rpm)
				}
			})
		}

		wg.Wait()
		wall := time.Since(start)
		cpu := user() - before
		fmt.Printf("%s jobs=%d wall_ms %.1f user_ms %.1f MB/s %.0f MB/s(user) %.0f\n", *what, *jobs,
			wall.Seconds()*1e3, cpu.Seconds()*1e3, float64(bytes)/1e6/wall.Seconds(), float64(bytes)/1e6/cpu.Seconds())
	}
}

func one(a *dsp.Analyser, path, what string, rate float64, blades int, rpm float64) {
	o := ingest.Options{}
	rd, err := format.Open(path, o)
	fatal(err)
	defer rd.Close()
	info := rd.Info()
	n := info.Channels[0].Samples

	channels := make([]int, len(info.Channels))
	for c := range channels {
		channels[c] = c
	}

	switch what {
	case "scan":
		_, _, err := stats.Scan(context.Background(), rd, ingest.Run{ID: path, Path: path, Row1: -1})
		fatal(err)

	case "read":
		dst := make([][]float64, len(channels))
		for c := range dst {
			dst[c] = make([]float64, 51200)
		}

		for at := int64(0); at+51200 <= n; at += 51200 {
			_, err := rd.Read(channels, at, dst)
			fatal(err)
		}

	default:
		if r := info.Channels[0].RateHz; r > 0 {
			rate = r
		}

		ctx, settings := context.Background(), dsp.DefaultSettings()
		r := &dsp.Run{RateHz: rate, Samples: n, Settings: &settings}
		for c := range channels {
			r.Microphones = append(r.Microphones, dsp.Microphone{
				Channel: c, Scale: 1, Conditions: map[string]float64{"blades": float64(blades), "rpm": rpm},
			})
		}

		construction := dsp.Find("split-half-spectrum", dsp.Microphones).(dsp.OfSpectra)
		load, err := construction.Spectra(r)
		fatal(err)
		fatal(a.Load(ctx, rd, load))
		_, err = construction.Pairs(ctx, rd, r, a)
		fatal(err)
	}
}

func transform(n, repeat int) {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Sin(float64(i * i))
	}

	f, dst := dsp.NewFFT(n), make([]complex128, n/2+1)
	w := dsp.NewWelch(n)
	p := make([]float64, w.Bins())
	least := func(f func()) float64 {
		best := math.Inf(1)
		for range 200 {
			start := time.Now()
			f()
			best = min(best, float64(time.Since(start).Nanoseconds())/1e3)
		}

		return best
	}

	for range repeat {
		fmt.Printf("fft n=%d least_us %.1f; Welch of a segment least_us %.1f\n", n,
			least(func() { f.Coefficients(dst, x) }), least(func() { w.SegmentPower(p, x) }))
	}
}

func user() time.Duration {
	var u syscall.Rusage
	fatal(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
