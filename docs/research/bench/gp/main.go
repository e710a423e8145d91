// Command gp compares the processor time of fits of a Gaussian process with scikit-learn's, one core each, on the same
// simulated pairs. Both search the hyperparameters from three starts on all conditions. docs/performance.md has the
// results.
//
//	go run ./bench/gp [-rounds 3] [-sizes 80,160,320]
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"doubletake/train/gp"
	"doubletake/train/triplets"
)

const (
	inputs = 5
	noise  = 0.1 // deviation of one measurement
)

func main() {
	rounds := flag.Int("rounds", 3, "alternating rounds; the medians are printed")
	sizes := flag.String("sizes", "80,160,320", "numbers of conditions")
	flag.Parse()

	runtime.GOMAXPROCS(1)
	fmt.Println("| conditions | ours, s | scikit-learn, s | ratio |")
	fmt.Println("|---|---|---|---|")
	for size := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(size)
		if err == nil {
			err = compare(n, *rounds)
		}

		if err != nil {
			fmt.Fprintln(os.Stderr, "gp:", err)
			os.Exit(1)
		}
	}
}

// compare prints the medians of some rounds with n conditions.
func compare(n, rounds int) error {
	set := simulate(n)
	var own, peer []float64
	for range rounds {
		seconds, err := fit(set)
		if err != nil {
			return err
		}

		own = append(own, seconds)
		seconds, err = fitPeer(set)
		if err != nil {
			return err
		}

		peer = append(peer, seconds)
	}

	slices.Sort(own)
	slices.Sort(peer)
	ours := own[rounds/2]
	theirs := peer[rounds/2]
	fmt.Printf("| %d | %.2f | %.2f | %.1f |\n", n, ours, theirs, theirs/ours)

	return nil
}

// simulate returns pairs at n random conditions. The last input is a property of eight groups.
func simulate(n int) triplets.Set {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var x, y1, y2 []float64
	for i := range n {
		sum := 0.0
		for k := range inputs {
			v := rng.Float64()
			if k == inputs-1 {
				v = float64(i%8) / 8
			}

			x = append(x, v)
			sum += math.Sin(3*v + float64(k))
		}

		y1 = append(y1, sum+noise*rng.NormFloat64())
		y2 = append(y2, sum+noise*rng.NormFloat64())
	}

	return triplets.New(make([]triplets.Quantity, inputs), make([]triplets.Quantity, 1), x, y1, y2)
}

// fit fits our process, and returns the processor time in seconds.
func fit(set triplets.Set) (float64, error) {
	before, err := processor()
	if err != nil {
		return 0, err
	}

	options := gp.Options{GroupInputs: []int{inputs - 1}, HyperRows: set.N, Workers: 1}
	if _, err := gp.Fit(context.Background(), set, options); err != nil {
		return 0, err
	}

	after, err := processor()

	return (after - before).Seconds(), err
}

// processor returns the processor time that this process has used.
func processor() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, err
	}

	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// fitPeer fits scikit-learn's process to the means of the pairs, and returns the processor time in seconds.
func fitPeer(set triplets.Set) (float64, error) {
	dir, err := os.MkdirTemp("", "gp-")
	if err != nil {
		return 0, err
	}

	defer os.RemoveAll(dir)

	var table strings.Builder
	for i := range set.N {
		for _, v := range set.X[i*inputs : (i+1)*inputs] {
			fmt.Fprintf(&table, "%g,", v)
		}

		fmt.Fprintf(&table, "%g\n", (set.Y1[i]+set.Y2[i])/2)
	}

	path := filepath.Join(dir, "table.csv")
	if err := os.WriteFile(path, []byte(table.String()), 0o600); err != nil {
		return 0, err
	}

	cmd := exec.Command("/usr/bin/python3", filepath.Join("bench", "gp", "peer.py"), path, fmt.Sprint(noise*noise/2))
	cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("fit scikit-learn's process: %w", err)
	}

	words := strings.Fields(string(out))
	if len(words) == 0 {
		return 0, fmt.Errorf("fit scikit-learn's process: it printed nothing")
	}

	return strconv.ParseFloat(words[0], 64)
}
