// Command bench compares training and estimation with their Python peers: the
// steppers of the reference (torch eager, five networks as one batched product,
// numpy by hand, numba by hand), on the same rows, in the same session, one core
// each, alternating with ours. docs/performance.md has the results.
//
//	go run ./bench/train [-rounds 7] [-only peers,cov,kernels,cores,cost] [-short]
//
// The reference is looked for in $DOUBLETAKE_REFERENCE, then in
// ../../../shared/reference. The peers want the Debian packages python3-torch,
// python3-numba, python3-scipy; the machine's peaks gcc and libopenblas-dev.
// A peer whose modules are missing is named and left out, and so are the machine's
// peaks without AVX-512.
//
// Wall time is what a user waits for, but on a machine that others use too it
// measures them as well: ratios are of processor time (user and system, all
// threads of the process), medians over the rounds of the ratio within a round.
package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/cpu"

	"doubletake/train"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

func main() {
	rounds := flag.Int("rounds", 7, "alternating rounds")
	only := flag.String("only", "peers,cov,kernels,cores,cost", "which tables")
	short := flag.Bool("short", false, "little work, to see that it runs")
	flag.Parse()

	if err := run(*rounds, strings.Split(*only, ","), *short); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// workload is one of the three experiments (docs/method.md#model-and-training).
type workload struct {
	name         string
	data         triplets.Set
	cfg          train.Config
	epochs       int     // of ours in one round
	steps        int     // of a peer in one round
	flop         float64 // useful ones of the matrix products of a step
	productsTime float64 // of a step's eight products alone, s; 0 where unknown
}

// reference is the folder of the Python reference.
func reference() string {
	if ref := os.Getenv("DOUBLETAKE_REFERENCE"); ref != "" {
		return ref
	}
	return filepath.Join("..", "..", "..", "shared", "reference")
}

func run(rounds int, only []string, short bool) error {
	ref, err := filepath.Abs(reference())
	if err != nil {
		return err
	}

	ws, err := workloads(ref)
	if err != nil {
		return err
	}

	if short {
		for _, w := range ws {
			w.epochs, w.steps, w.cfg.Epochs = 1, 2, 1
		}
	}

	fmt.Printf("%d rounds, %d processors, kernels %s\n\n", rounds, runtime.NumCPU(), strings.Join(kernel.Names(), ", "))
	var peak float64

	training, cov := slices.Contains(only, "peers"), slices.Contains(only, "cov")

	switch {
	case training && !cpu.X86.HasAVX512F:
		fmt.Print("machine's peaks: left out: bench_limits.c needs AVX-512\n\n")
	case training:
		if peak, err = limits(ref, ws); err != nil {
			fmt.Printf("machine's peaks: left out: %v\n\n", err)
		}
	}

	if training || cov {
		if err := comparePeers(ref, ws, rounds, peak, training, cov); err != nil {
			return err
		}
	}

	if slices.Contains(only, "kernels") {
		if err := compareKernels(ws, rounds); err != nil {
			return err
		}
	}

	if slices.Contains(only, "cores") {
		if err := compareCores(ws, rounds); err != nil {
			return err
		}
	}

	if slices.Contains(only, "cost") {
		return cost(ws[1], rounds, short)
	}

	return nil
}

// workloads reads the reference's airfoil and drone tables, cut as the paper
// cuts them, and draws the toy.
func workloads(ref string) ([]*workload, error) {
	airfoil, err := readTable(filepath.Join(ref, "data", "aero_s0.csv"), 2, 2,
		func(x []float64) bool { return x[1] != 4.7 })
	if err != nil {
		return nil, err
	}

	drone, err := readTable(filepath.Join(ref, "data", "drone_s0.csv"), 3, 5, func(x []float64) bool { return x[0] != 2 })
	if err != nil {
		return nil, err
	}

	toy := triplets.Set{N: 1000, In: 1, Out: 1}

	rng := rand.New(rand.NewPCG(1, 1))
	for range toy.N { // docs/method.md#synthetic-data-and-couples, γ = 1.5
		x := 12*rng.Float64() - 6
		s := 1.5 * math.Exp(-x*x/2)
		toy.X = append(toy.X, x)
		toy.Y1 = append(toy.Y1, x*math.Sin(x)+s*rng.NormFloat64())
		toy.Y2 = append(toy.Y2, x*math.Sin(x)+s*rng.NormFloat64())
	}

	ws := []*workload{
		{name: "airfoil", data: airfoil, epochs: 4, steps: 175},
		{name: "drone", data: drone, epochs: 120, steps: 180},
		{name: "toy", data: toy, epochs: 80, steps: 186},
	}

	for _, w := range ws {
		w.cfg = train.DefaultConfig()
		w.cfg.Seed = 1
		w.cfg.Epochs = w.epochs
	}

	ws[0].cfg.Batch, ws[2].cfg.Standardise = 256, false
	for _, w := range ws {
		h, i, d := 64.0, float64(w.data.In+w.data.Out), float64(w.data.Out)
		w.flop = 2 * 3 * float64(w.cfg.Batch) * (2*i*h + 3*h*h + 3*h*2*d)
	}

	return ws, nil
}

func readTable(path string, in, out int, keep func(x []float64) bool) (triplets.Set, error) {
	d := triplets.Set{In: in, Out: out}

	f, err := os.Open(path)
	if err != nil {
		return d, fmt.Errorf("find the reference's data (set DOUBLETAKE_REFERENCE): %w", err)
	}
	defer f.Close()

	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return d, fmt.Errorf("read %s: %w", path, err)
	}

	v := make([]float64, in+2*out)
	for _, r := range rows[1:] {
		for j := range v {
			if v[j], err = strconv.ParseFloat(r[j], 64); err != nil {
				return d, fmt.Errorf("read %s: %w", path, err)
			}
		}

		if keep(v[:in]) {
			d.N++
			d.X = append(d.X, v[:in]...)
			d.Y1 = append(d.Y1, v[in:in+out]...)
			d.Y2 = append(d.Y2, v[in+out:]...)
		}
	}

	return d, nil
}

// measure is what one piece of work took: units are triplets or network rows.
type measure struct{ Wall, CPU, Units float64 }

func (m measure) perCPU() float64 { return m.Units / m.CPU }

// timed measures f; all that runs in this process counts.
func timed(units float64, f func() error) (measure, error) {
	runtime.GC()
	c, t := processorTime(), time.Now()
	err := f()
	return measure{time.Since(t).Seconds(), processorTime() - c, units}, err
}

func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}

	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func fit(w *workload, kernels string, seed uint64) (*train.Model, measure, error) {
	cfg := w.cfg
	cfg.Kernels, cfg.Seed = kernels, seed
	var m *train.Model
	ms, err := timed(float64(w.data.N*cfg.Epochs), func() (err error) {
		m, _, err = train.Fit(context.Background(), w.data, cfg, nil)
		return err
	})

	return m, ms, err
}

const (
	covSamples = 1000
	covNodes   = 1024 // of the quadrature for C with five outcomes
)

// estimate is cov_θ of a trained network; what else Estimate finds out (C, δ, κ
// by quadrature, ZigZag) is paid for and not counted.
func estimate(m *train.Model, x []float64) (measure, error) {
	return timed(float64(len(x)/m.In*covSamples), func() error {
		_, err := m.Estimate(context.Background(), x, train.EstimateOptions{Samples: covSamples})
		return err
	})
}

// limits compiles and runs the reference's bench_limits.c, its clock replaced by
// the thread's processor time: best of many short runs.
func limits(ref string, ws []*workload) (peak float64, err error) {
	dir, err := os.MkdirTemp("", "limits")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)

	source, err := os.ReadFile(filepath.Join(ref, "bench_limits.c"))
	if err != nil {
		return 0, err
	}

	bin := filepath.Join(dir, "limits")
	if err := os.WriteFile(bin+".c", bytes.ReplaceAll(source, []byte("CLOCK_MONOTONIC"),
		[]byte("CLOCK_THREAD_CPUTIME_ID")), 0o644); err != nil {
		return 0, err
	}

	if out, err := exec.Command("gcc", "-O3", "-march=native", bin+".c", "-o", bin,
		"-lopenblas").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("compile bench_limits.c: %w: %s", err, out)
	}

	c := exec.Command("sh", "-c", ". ./env.sh; exec "+bin)
	c.Dir = ref
	out, err := c.Output()
	if err != nil {
		return 0, fmt.Errorf("run bench_limits.c: %w", err)
	}

	fmt.Println("Machine's peaks (bench_limits.c by processor time, best of many short runs):")

	for line := range strings.Lines(string(out)) {
		fmt.Print("    ", line)

		if m := regexp.MustCompile(`FMA peak 1 core: ([\d.]+)`).FindStringSubmatch(line); m != nil {
			peak, _ = strconv.ParseFloat(m[1], 64)
		}

		if m := regexp.MustCompile(`^(\w+) .*swap`).FindStringSubmatch(line); m != nil {
			continue
		}

		if m := regexp.MustCompile(`^(\w+) .*sum ([\d.]+) us`).FindStringSubmatch(line); m != nil {
			us, _ := strconv.ParseFloat(m[2], 64)
			for _, w := range ws {
				if w.name == m[1] || w.name == "airfoil" && m[1] == "aero" {
					w.productsTime = us * 1e-6
				}
			}
		}
	}

	fmt.Println()

	return peak, nil
}

//go:embed peers.py
var peersPy []byte

// peers is the running peers.py.
type peers struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *bufio.Scanner
}

func startPeers(ref, dir string) (*peers, error) {
	script := filepath.Join(dir, "peers.py")
	if err := os.WriteFile(script, peersPy, 0o644); err != nil {
		return nil, err
	}

	// env.sh makes OpenBLAS use AVX-512. A processor without AVX-512 then ends the peers at their first product.
	start := `. ./env.sh; exec "$PY" "$0"`
	if !cpu.X86.HasAVX512F {
		start = `. ./env.sh; unset OPENBLAS_CORETYPE; exec "$PY" "$0"`
	}

	c := exec.Command("sh", "-c", start, script)
	c.Dir, c.Stderr = ref, os.Stderr
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONWARNINGS=ignore", "NUMBA_CACHE_DIR="+dir)
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}

	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}

	return &peers{c, json.NewEncoder(in), bufio.NewScanner(out)}, c.Start()
}

// missingPeer is the error of a peer whose modules are not installed.
type missingPeer string

func (m missingPeer) Error() string { return string(m) }

func (p *peers) ask(q map[string]any) (measure, error) {
	if err := p.in.Encode(q); err != nil {
		return measure{}, fmt.Errorf("ask the peers: %w", err)
	}

	if !p.out.Scan() {
		return measure{}, errors.New("the peers ended: see their message above")
	}

	var answer struct {
		measure
		Missing string
	}

	if err := json.Unmarshal(p.out.Bytes(), &answer); err != nil {
		return measure{}, fmt.Errorf("read the peers' answer %q: %w", p.out.Bytes(), err)
	}

	if answer.Missing != "" {
		return measure{}, missingPeer(answer.Missing)
	}

	return answer.measure, nil
}

var peerNames = []struct{ key, name string }{
	{"torch", "torch eager"}, {"bmm", "torch, 5 nets as bmm"}, {"numpy", "numpy by hand"}, {"numba", "numba by hand"},
}

// comparison holds the measures of alternating rounds: ours by work, theirs by work
// and peer.
type comparison struct {
	p                   *peers
	ws                  []*workload
	training, estimates bool
	ours, theirs        map[string][]measure
	missing             map[string]missingPeer // by peer
}

func comparePeers(ref string, ws []*workload, rounds int, peak float64, training, estimates bool) error {
	runtime.GOMAXPROCS(1)

	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	p, err := startPeers(ref, dir)
	if err != nil {
		return err
	}
	defer func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() }()

	for _, w := range ws {
		path := filepath.Join(dir, w.name)
		if err := writeRows(path, w.data); err != nil {
			return err
		}

		if _, err := p.ask(map[string]any{
			"do": "load", "data": w.name, "file": path, "n": w.data.N, "in": w.data.In,
			"out": w.data.Out, "standardise": w.cfg.Standardise,
		}); err != nil {
			return err
		}
	}

	drone := *ws[1]
	drone.cfg.Epochs = 500
	model, _, err := fit(&drone, "auto", 1)
	if err != nil {
		return err
	}

	c := &comparison{
		p:         p,
		ws:        ws,
		training:  training,
		estimates: estimates,
		ours:      map[string][]measure{},
		theirs:    map[string][]measure{},
		missing:   map[string]missingPeer{},
	}

	for round := range rounds + 1 {
		if err := c.round(model, drone.data.X); err != nil {
			return err
		}

		if round == 0 { // warming up
			clear(c.ours)
			clear(c.theirs)
		}
	}

	c.print(rounds)

	if training {
		c.printSteps(peak)
	}

	fmt.Println()

	return nil
}

// round measures every work once, ours and the peers' in turn.
func (c *comparison) round(model *train.Model, x []float64) error {
	for _, w := range c.ws {
		if !c.training {
			break
		}

		_, m, err := fit(w, "auto", 1)
		if err != nil {
			return err
		}

		c.ours[w.name] = append(c.ours[w.name], m)
		for _, q := range peerNames {
			m, err := c.p.ask(map[string]any{
				"do": "train", "data": w.name, "peer": q.key, "batch": w.cfg.Batch,
				"steps": w.steps,
			})

			var missing missingPeer
			if errors.As(err, &missing) {
				if c.missing[q.key] == "" {
					fmt.Printf("%s is left out: %s\n", q.name, missing)
					c.missing[q.key] = missing
				}

				continue
			}

			if err != nil {
				return err
			}

			c.theirs[w.name+q.key] = append(c.theirs[w.name+q.key], m)
		}
	}

	if !c.estimates {
		return nil
	}

	m, err := estimate(model, x)
	if err != nil {
		return err
	}

	c.ours["cov"] = append(c.ours["cov"], m)
	if m, err = c.p.ask(map[string]any{"do": "cov", "data": "drone", "rows": 585, "samples": covSamples}); err != nil {
		return err
	}

	c.theirs["cov"] = append(c.theirs["cov"], m)

	return nil
}

// print writes the table of rates.
func (c *comparison) print(rounds int) {
	fmt.Printf("One core against one core, %d alternating rounds; medians. Thousand triplets (cov_θ: network rows) a "+
		"second of processor time:\n\n", rounds)
	fmt.Println("| work | peer | peer | ours | ratio | range | ratio by wall time |\n|---|---|---|---|---|---|---|")
	row := func(work, peer string, a, b []measure) {
		if len(b) == 0 {
			return
		}

		r := ratios(a, b, measure.perCPU)
		rw := ratios(a, b, func(m measure) float64 { return m.Units / m.Wall })
		fmt.Printf("| %s | %s | %.0f | %.0f | **%.1f** | %.1f–%.1f | %.1f |\n", work, peer, median(rates(b))/1e3,
			median(rates(a))/1e3,
			median(r), slices.Min(r), slices.Max(r), median(rw))
	}

	if c.training {
		for _, w := range c.ws {
			for _, q := range peerNames {
				row(w.name, q.name, c.ours[w.name], c.theirs[w.name+q.key])
			}
		}
	}

	if !c.estimates {
		return
	}

	row("cov_θ, d = 5, samples", "torch", c.ours["cov"], c.theirs["cov"])

	all := slices.Clone(c.ours["cov"])
	for i := range all { // 3⁵ nodes of the quadrature and the samples
		all[i].Units *= float64(covSamples+covNodes) / covSamples
	}

	row("cov_θ, d = 5, all network rows", "torch", all, c.theirs["cov"])
}

// printSteps writes the time of a training step against the processor's peak.
func (c *comparison) printSteps(peak float64) {
	fmt.Println("\n| work | a step | GFLOP/s of products | of the FMA peak | of the speed of its 8 products alone " +
		"(OpenBLAS) |\n|---|---|---|---|---|")

	for _, w := range c.ws {
		step := float64(w.cfg.Batch) / median(rates(c.ours[w.name]))
		g := w.flop / step / 1e9
		fmt.Printf("| %s | %.1f µs | %.0f | %s | %s |\n", w.name, step*1e6, g, share(g, peak), share(w.productsTime, step))
	}
}

func share(a, b float64) string {
	if !(a > 0) || !(b > 0) {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", a/b)
}

func writeRows(path string, d triplets.Set) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}

	w := bufio.NewWriter(f)
	for i := range d.N {
		for _, v := range [][]float64{d.X[i*d.In : (i+1)*d.In], d.Y1[i*d.Out : (i+1)*d.Out], d.Y2[i*d.Out : (i+1)*d.Out]} {
			if err := binary.Write(w, binary.LittleEndian, v); err != nil {
				return err
			}
		}
	}

	return errors.Join(w.Flush(), f.Close())
}

// compareKernels measures the kernel sets of this machine against each other.
func compareKernels(ws []*workload, rounds int) error {
	runtime.GOMAXPROCS(1)
	names := kernel.Names()

	train, cov := map[string][]measure{}, map[string][]measure{}
	for range rounds {
		for _, w := range ws {
			for _, k := range names {
				short := *w
				if k == "portable" {
					short.cfg.Epochs = max(1, w.cfg.Epochs/20)
				}

				m, ms, err := fit(&short, k, 1)
				if err != nil {
					return err
				}

				train[w.name+k] = append(train[w.name+k], ms)
				x := w.data.X[:585*w.data.In]
				if k == "portable" {
					x = x[:10*w.data.In]
				}

				if ms, err = estimate(m, x); err != nil {
					return err
				}

				cov[w.name+k] = append(cov[w.name+k], ms)
			}
		}
	}

	fmt.Printf("Kernel sets, medians of %d alternating rounds, thousand a second of processor time:\n\n| work | "+
		"kernels | triplets trained | cov_θ rows |\n|---|---|---|---|\n", rounds)

	for _, w := range ws {
		for _, k := range names {
			fmt.Printf("| %s | %s | %.0f | %.0f |\n", w.name, k, median(rates(train[w.name+k]))/1e3,
				median(rates(cov[w.name+k]))/1e3)
		}
	}

	fmt.Println()

	return nil
}

// compareCores trains one seed, then two at a time.
func compareCores(ws []*workload, rounds int) error {
	if runtime.NumCPU() < 2 {
		fmt.Print("Two cores: left out, this machine has one.\n\n")
		return nil
	}

	runtime.GOMAXPROCS(2)
	fmt.Printf("Two seeds on two cores against one on one, medians of %d alternating rounds. By processor time: what a "+
		"triplet costs when both cores work (2 is perfect); by wall time with whatever else the machine did:\n\n", rounds)
	fmt.Println("| work | by processor time | range | by wall time | best by wall time |\n|---|---|---|---|---|")

	for _, w := range ws {
		var cpu, wall []float64
		for range rounds {
			long := *w
			long.cfg.Epochs *= 3
			_, one, err := fit(&long, "auto", 1)
			if err != nil {
				return err
			}

			var errs [2]error
			two, _ := timed(2*one.Units, func() error {
				var wg sync.WaitGroup
				for i := range errs {
					wg.Go(func() {
						cfg := long.cfg
						cfg.Seed = uint64(i + 1)
						_, _, errs[i] = train.Fit(context.Background(), long.data, cfg, nil)
					})
				}

				wg.Wait()

				return nil
			})

			if err := errors.Join(errs[:]...); err != nil {
				return err
			}

			cpu = append(cpu, 2*two.perCPU()/one.perCPU())
			wall = append(wall, two.Units/two.Wall/(one.Units/one.Wall))
		}

		fmt.Printf("| %s | %.2f | %.2f–%.2f | %.2f | %.2f |\n", w.name, median(cpu), slices.Min(cpu), slices.Max(cpu),
			median(wall), slices.Max(wall))
	}

	fmt.Println()

	return nil
}

// cost trains 1, 3, 10 times the triplets for 1, 3, 10 times the epochs.
func cost(w *workload, rounds int, short bool) error {
	least := 30
	if short {
		least = 1
	}

	runtime.GOMAXPROCS(1)
	factors := []int{1, 3, 10}

	times := map[[2]int][]float64{}
	for range rounds {
		for _, a := range factors {
			d := triplets.Set{N: a * w.data.N, In: w.data.In, Out: w.data.Out}
			for range a {
				d.X, d.Y1, d.Y2 = append(d.X, w.data.X...), append(d.Y1, w.data.Y1...), append(d.Y2, w.data.Y2...)
			}

			for _, b := range factors {
				big := *w
				big.data, big.cfg.Epochs = d, least*b
				_, m, err := fit(&big, "auto", 1)
				if err != nil {
					return err
				}

				times[[2]int{a, b}] = append(times[[2]int{a, b}], m.CPU)
			}
		}
	}

	unit := median(times[[2]int{1, 1}])
	fmt.Printf("Cost of %s training in units of %d triplets × %d epochs (%.0f ms of processor time), medians of %d "+
		"rounds; in brackets per triplet and epoch:\n\n| triplets | %d epochs | %d epochs | %d epochs "+
		"|\n|---|---|---|---|\n", w.name, w.data.N, least, unit*1e3, rounds, least, 3*least, 10*least)

	for _, a := range factors {
		fmt.Printf("| %d × %d |", a, w.data.N)

		for _, b := range factors {
			t := median(times[[2]int{a, b}]) / unit
			fmt.Printf(" %.2f (%.2f) |", t, t/float64(a*b))
		}

		fmt.Println()
	}

	fmt.Println()

	return nil
}

func rates(m []measure) []float64 {
	r := make([]float64, len(m))
	for i := range m {
		r[i] = m[i].perCPU()
	}

	return r
}

func ratios(a, b []measure, f func(measure) float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = f(a[i]) / f(b[i])
	}

	return r
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}

	return s[len(s)/2]
}
