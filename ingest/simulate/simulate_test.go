package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The default campaigns are valid, and their files and README say that they are simulated.
func TestNew(t *testing.T) {
	for _, kind := range []string{"rotor", "airfoil", "toy"} {
		c, err := New(kind)
		require.NoError(t, err)

		assert.Equal(t, kind, c.Kind(), "kind of %q", kind)

		err = c.Validate()
		assert.NoError(t, err, "defaults of %s", kind)

		for _, f := range c.Files() {
			assert.Contains(t, f.Name, "simulated")
		}

		text := c.Readme()
		require.True(t, strings.HasPrefix(text, "simulated"), "README of %s", kind)
		assert.Contains(t, text, "generator version  "+Version+"\nseed               0\n", "README of %s", kind)
	}

	_, err := New("glider")
	assert.EqualError(t, err, `unknown campaign "glider": expected rotor, airfoil or toy`, "unknown kind")
}

// Expected: x uniform, y with mean x·sin x and σ = γ·exp(−x²/2), y_1 and y_2
// independent (docs/method.md#synthetic-data-and-couples); standard errors of
// normal variables.
func TestToy(t *testing.T) {
	toy := with(DefaultToy(), func(t *Toy) {
		t.N = 20000
		t.Gamma = 3
		t.Seed = 4
	})
	lines := strings.Split(strings.TrimSuffix(string(record(t, toy, 0)), "\n"), "\n")
	require.Equal(t, "x,y_1,y_2", lines[0])
	require.Len(t, lines, 20001)

	var z1, z2, z12, q1, q2 float64

	var xs []float64
	for _, line := range lines[1:] {
		var v [3]float64
		for i, f := range strings.Split(line, ",") {
			var err error
			v[i], err = strconv.ParseFloat(f, 64)
			require.NoError(t, err)
		}

		x := v[0]
		xs = append(xs, x)

		if math.Abs(x) > 5 {
			continue // σ is below 1e-5 there: rounding
		}

		a := (v[1] - x*math.Sin(x)) / (3 * math.Exp(-x*x/2))
		b := (v[2] - x*math.Sin(x)) / (3 * math.Exp(-x*x/2))
		z1 += a
		z2 += b
		z12 += a * b
		q1 += a * a
		q2 += b * b
	}

	count := 0.0
	slices.Sort(xs)

	d := 0.0
	for i, x := range xs {
		if math.Abs(x) <= 5 {
			count++
		}
		d = max(d, math.Abs((x+6)/12-float64(i)/20000))
	}

	assert.LessOrEqual(t, d, 1.95/math.Sqrt(20000)+1.0/20000, "Kolmogorov distance of x from a uniform distribution")

	se := 1 / math.Sqrt(count)
	for name, v := range map[string]float64{
		"mean of y_1": z1 / count, "mean of y_2": z2 / count, "product": z12 / count,
		"variance of y_1": (q1/count - 1) / math.Sqrt2, "variance of y_2": (q2/count - 1) / math.Sqrt2,
	} {
		assert.InDelta(t, 0, v, 4*se, "%s: %g standard errors", name, v/se)
	}

	assert.GreaterOrEqual(t, xs[0], -6.0)
	assert.LessOrEqual(t, xs[len(xs)-1], 6.0)

	for _, edit := range []func(t *Toy){
		func(t *Toy) { t.N = 0 },
		func(t *Toy) { t.Gamma = 0 },
		func(t *Toy) {
			t.Lo = 0
			t.Hi = 0
		},
		func(t *Toy) {
			t.Lo = 2
			t.Hi = -2
		},
		func(t *Toy) { t.Lo = math.Inf(-1) },
		func(t *Toy) { t.Gamma = math.NaN() },
	} {
		bad := with(DefaultToy(), edit)
		require.Error(t, bad.Validate(), "%+v", bad)
		assert.Error(t, bad.Write(context.Background(), io.Discard, 0), "%+v", bad)
	}
}

// with returns a campaign with some settings changed.
func with[T any](c T, edit func(*T)) T {
	edit(&c)
	return c
}

// small returns a campaign of each kind with few and short files.
func small() []Campaign {
	return []Campaign{
		with(DefaultRotor(), func(r *Rotor) {
			r.DurationS = 0.2
			r.Blades = []int{2, 3}
			r.RPM = []float64{4000, 4500.5}
			r.ThetaDeg = []float64{-10, 0, 7.5}
		}),
		with(DefaultAirfoil(), func(a *Airfoil) {
			a.DurationS = 0.5
			a.AlphaDeg = []float64{-2, 0, 2.25}
			a.SpeedMS = []float64{4.7, 9.1}
		}),
		with(DefaultToy(), func(t *Toy) { t.N = 50 }),
	}
}

// readDir returns the names, in order, and the contents of the files of a folder.
func readDir(t *testing.T, dir string) (names []string, content map[string][]byte) {
	t.Helper()

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)

	content = map[string][]byte{}
	for _, e := range entries {
		b := testfile.Read(t, filepath.Join(dir, e.Name()))

		names = append(names, e.Name())
		content[e.Name()] = b
	}

	return names, content
}

// Expected: the same bytes for any number of workers. Each file is the same as by Write
// alone, and the directory has no other files.
func TestWriteDir(t *testing.T) {
	for _, c := range small() {
		var first map[string][]byte
		for _, workers := range []int{1, 3, 0} {
			dir := filepath.Join(t.TempDir(), "new", "campaign")
			var calls []string
			err := WriteDir(context.Background(), c, dir, workers, func(done, total int) {
				calls = append(calls, fmt.Sprintf("%d/%d", done, total))
			})
			require.NoError(t, err)

			names, content := readDir(t, dir)

			var want, progress []string
			for i, f := range c.Files() {
				want = append(want, f.Name)
				progress = append(progress, fmt.Sprintf("%d/%d", i+1, len(c.Files())))

				assert.Equal(t, record(t, c, i), content[f.Name], "%d workers", workers)
			}

			want = append(want, "README.txt")
			if c.Kind() != "toy" {
				want = append(want, "conditions.csv")
			}

			slices.Sort(want)

			assert.Equal(t, want, names, "files")

			assert.Equal(t, progress, calls, "progress")

			assert.Equal(t, c.Readme(), string(content["README.txt"]), "README.txt")

			if first == nil {
				first = content
			}

			for name := range first {
				assert.Equal(t, content[name], first[name], "%s, of any number of workers", name)
			}
		}
	}
}

// failing breaks off in the middle of its third file.
type failing struct{ Rotor }

func (f failing) Write(ctx context.Context, w io.Writer, i int) error {
	if i == 2 {
		w.Write([]byte("half a file"))
		return errors.New("the disk is on fire")
	}

	return f.Rotor.Write(ctx, w, i)
}

// Expected: a failure or cancellation leaves whole files only, and the error
// names the file.
func TestWriteDirLeavesNoPieces(t *testing.T) {
	c := small()[0].(Rotor)
	whole := func(dir string) int {
		t.Helper()

		names, content := readDir(t, dir)
		for _, name := range names {
			i := slices.IndexFunc(c.Files(), func(f File) bool { return f.Name == name })
			require.GreaterOrEqual(t, i, 0, "left behind: %s", name)
			assert.Equal(t, record(t, c, i), content[name], "left behind: %s", name)
		}

		return len(names)
	}

	for _, workers := range []int{1, 4} {
		dir := t.TempDir()
		err := WriteDir(context.Background(), failing{c}, dir, workers, nil)
		assert.ErrorContains(t, err, "write simulated_rotor_n3_rpm4000.wav: the disk is on fire")

		n := whole(dir)
		if workers == 1 {
			assert.Equal(t, 2, n)
		}
	}

	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := WriteDir(ctx, c, dir, 1, func(done, _ int) {
		if done == 2 {
			cancel()
		}
	})

	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 2, whole(dir), "files after cancellation at 2")

	// An invalid campaign touches nothing.
	dir = filepath.Join(t.TempDir(), "none")
	bad := with(DefaultRotor(), func(r *Rotor) { r.Encoding = "mp3" })
	err = WriteDir(context.Background(), bad, dir, 1, nil)
	assert.Error(t, err, "an invalid campaign")

	_, err = os.Stat(dir)
	assert.True(t, os.IsNotExist(err), "an invalid campaign made its directory")
}

// ExampleCampaign lists the files of a campaign without writing them.
func ExampleCampaign() {
	c, err := New("rotor")
	if err != nil {
		panic(err)
	}

	files := c.Files()
	fmt.Println(len(files), "files, the first", files[0].Name, "with", len(files[0].ThetaDeg), "channels")
	// Output: 60 files, the first simulated_rotor_n2_rpm2000.wav with 13 channels
}

// ExampleWriteDir writes a campaign with other settings into a folder.
func ExampleWriteDir() {
	dir, err := os.MkdirTemp("", "simulate")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	c := with(DefaultRotor(), func(r *Rotor) {
		r.Seed = 1
		r.DurationS = 1
		r.Blades = []int{3}
		r.RPM = []float64{5000}
	})
	if err := WriteDir(context.Background(), c, dir, 0, nil); err != nil {
		panic(err)
	}

	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		fmt.Println(e.Name())
	}
	// Output:
	// README.txt
	// conditions.csv
	// simulated_rotor_n3_rpm5000.wav
}

// A list names each element that is out of range or stands in it twice.
func TestCheckList(t *testing.T) {
	f := faults{kind: "rotor"}
	checkList(&f, "RPM", []float64{1, -2, 1}, "speed", "more than 0", func(v float64) bool { return v > 0 })

	want := "rotor: RPM[1]: expected more than 0, found -2\nrotor: RPM[2]: expected every speed once, found 1"
	assert.Equal(t, want, errors.Join(f.list...).Error())
}
