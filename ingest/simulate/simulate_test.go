package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// Expected: each file has the bytes that Write alone gives, for any number of workers. The folder also has the README
// and, unless the campaign is a toy, the table of conditions, and no other files.
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
				assert.Equal(t, first[name], content[name], "%s of %d workers", name, workers)
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

// Expected: a failure or cancellation leaves whole files only, and the error names the file. An invalid campaign does
// not make its folder.
func TestWriteDirLeavesNoPieces(t *testing.T) {
	c := small()[0].(Rotor)

	// whole asserts that each file in a folder is a whole file of the campaign, and returns the number of files.
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

		count := whole(dir)
		if workers == 1 { // more workers may have written later files already
			assert.Equal(t, 2, count, "files before the third one")
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
	assert.Equal(t, 2, whole(dir), "files after cancellation at the second")

	dir = filepath.Join(t.TempDir(), "none")
	bad := with(DefaultRotor(), func(r *Rotor) { r.Encoding = "mp3" })
	err = WriteDir(context.Background(), bad, dir, 1, nil)
	assert.Error(t, err, "an invalid campaign")

	_, err = os.Stat(dir)
	assert.True(t, os.IsNotExist(err), "the folder of an invalid campaign does not exist")
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

// The errors about a list name each element that is out of range, or that the list has twice.
func TestCheckList(t *testing.T) {
	f := faults{kind: "rotor"}
	checkList(&f, "RPM", []float64{1, -2, 1}, "speed", "more than 0", func(v float64) bool { return v > 0 })

	want := "rotor: RPM[1]: expected more than 0, found -2\nrotor: RPM[2]: expected every speed once, found 1"
	assert.Equal(t, want, errors.Join(f.list...).Error())
}
