package app

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"doubletake/ingest/table"
)

// The scripts call the program as a process of its own, which is this test
// binary running run: exit statuses, streams and working directories are real.
func TestMain(m *testing.M) {
	// The tests start the program hundreds of times: with a large heap it collects no garbage
	// as it starts.
	os.Setenv("GOGC", "400")
	testscript.Main(m, map[string]func(){"pipeline": func() { os.Exit(Main(Extensions{})) }})
}

// TestScripts runs testdata/script/*.txtar. Messages in them are written by
// hand and compared whole; the scripts' commands are documented below.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GOGC", "400")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "mkwav": mkwav, "nopartial": nopartial, "replace": replace,
			"onejson": oneJSON, "samefiles": sameFiles, "missing": missing, "drive": drive,
			"unprivileged": unprivileged,
		},
		Condition: func(c string) (bool, error) {
			switch c {
			case "root":
				return os.Geteuid() == 0, nil
			case "long": // scripts that take a second or more
				return os.Getenv("DOUBLETAKE_LONG") != "", nil
			}

			return false, fmt.Errorf("unknown condition %q", c)
		},
	})
}

// exits STATUS COMMAND ARGS… runs a command and wants exactly that exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND ARGS…")
	}

	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)

	var ee *exec.ExitError
	if errors.As(err, &ee) {
		got = ee.ExitCode()
	} else {
		ts.Check(err)
	}

	if got != want {
		ts.Fatalf("exit status %d, expected %d", got, want)
	}
}

// unprivileged ARGS… runs the program as a user whom permissions bind, which root is
// not: as nobody where the test runs as root. It needs /proc.
func unprivileged(ts *testscript.TestScript, neg bool, args []string) {
	exe, err := os.Executable()
	ts.Check(err)
	f, err := os.Open(exe)
	ts.Check(err)
	defer f.Close()
	cmd := exec.Command("/proc/self/fd/3", args...) // nobody may not enter the folder of the test binary
	cmd.Args[0], cmd.ExtraFiles = "pipeline", []*os.File{f}
	cmd.Dir, cmd.Env = ts.MkAbs("."), []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH")}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		for dir := cmd.Dir; len(dir) > len(filepath.Clean(os.TempDir())); dir = filepath.Dir(dir) {
			ts.Check(os.Chmod(dir, 0o755))
		}
	}

	out, err := cmd.CombinedOutput()
	ts.Logf("%s", out)
	ts.Check(os.WriteFile(ts.MkAbs("output"), out, 0o644))
	if neg == (err == nil) {
		ts.Fatalf("unprivileged %v: %v", args, err)
	}
}

// nopartial DIR [NAME…] wants nothing published in the work directory DIR but
// the files named (by base name), and those complete: every Arrow file readable
// to its last row. Temporary files are nowhere allowed, not even below .cache.
func nopartial(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: nopartial DIR [NAME…]")
	}

	root := ts.MkAbs(args[0])
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p == root {
			return fs.SkipAll // nothing was even begun
		}

		if err != nil {
			return err
		}

		rel, _ := filepath.Rel(root, p)
		inCache := strings.HasPrefix(rel, ".cache")
		switch {
		case strings.HasPrefix(d.Name(), ".tmp"):
			return fmt.Errorf("a temporary file stayed: %s", rel)
		case rel == filepath.Join(".cache", "tmp"):
			return fmt.Errorf("the scratch folder stayed: %s", rel)
		case d.IsDir() || inCache || rel == ".lock":
			return nil
		case !slices.Contains(args[1:], d.Name()):
			return fmt.Errorf("published though the run failed: %s", rel)
		case strings.HasSuffix(d.Name(), ".arrow"):
			_, err := table.Read(p)
			return err
		}

		return nil
	})

	ts.Check(err)
}

// missing DIR wants that DIR is not there at all.
func missing(ts *testscript.TestScript, neg bool, args []string) {
	for _, a := range args {
		if _, err := os.Lstat(ts.MkAbs(a)); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			ts.Fatalf("%s is there (%v)", a, err)
		}
	}
}

// replace FILE OLD NEW changes the one occurrence of OLD.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}

	b := ts.ReadFile(args[0])
	if n := strings.Count(b, args[1]); n != 1 {
		ts.Fatalf("%q occurs %d times in %s, expected once", args[1], n, args[0])
	}

	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(b, args[1], args[2], 1)), 0o644))
}

// onejson FILE [PATH VALUE]… wants that FILE (stdout, stderr or a file) is
// exactly one JSON document. PATH walks it by keys and indices joined with
// "/"; "len" is the number of elements. VALUE is the JSON text wanted there.
func oneJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args)%2 != 1 {
		ts.Fatalf("usage: onejson FILE [PATH VALUE]…")
	}

	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	var doc any
	ts.Check(d.Decode(&doc))

	if d.More() {
		ts.Fatalf("%s holds more than one JSON document", args[0])
	}

	for i := 1; i < len(args); i += 2 {
		v := doc
		for _, k := range strings.Split(args[i], "/") {
			switch x := v.(type) {
			case map[string]any:
				next, ok := x[k]
				if !ok {
					ts.Fatalf("%s: no key %q", args[i], k)
				}

				v = next

			case []any:
				if k == "len" {
					v = len(x)
					continue
				}

				n, err := strconv.Atoi(k)
				if err != nil || n >= len(x) {
					ts.Fatalf("%s: no element %q among %d", args[i], k, len(x))
				}

				v = x[n]

			default:
				ts.Fatalf("%s: nothing below %v", args[i], v)
			}
		}

		b, err := json.Marshal(v)
		ts.Check(err)

		if string(b) != args[i+1] {
			ts.Fatalf("%s: found %s, expected %s", args[i], b, args[i+1])
		}
	}
}

// published lists what a work directory shows, without the pipeline's own.
func published(dir string, skip []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".cache":
			return fs.SkipDir
		case d.IsDir() || d.Name() == ".lock" || slices.Contains(skip, d.Name()):
			return nil
		}

		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out[rel] = b

		return err
	})

	return out, err
}

// sameTrees reports the first difference between two work directories, but for files of these names.
func sameTrees(a, b string, skip ...string) error {
	x, err := published(a, skip)
	if err != nil {
		return err
	}

	y, err := published(b, skip)
	if err != nil {
		return err
	}

	if len(x) == 0 {
		return fmt.Errorf("%s shows no files", a)
	}

	for name, bytesA := range x {
		if bytesB, ok := y[name]; !ok {
			return fmt.Errorf("%s is in %s only", name, a)
		} else if !bytes.Equal(bytesA, bytesB) {
			return fmt.Errorf("%s differs between %s and %s", name, a, b)
		}

		delete(y, name)
	}

	for name := range y {
		return fmt.Errorf("%s is in %s only", name, b)
	}

	return nil
}

// samefiles A B wants two work directories to show the same files, byte for byte.
func sameFiles(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(sameTrees(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}

// mkwav FILE [KEY=VALUE]… writes the sound of a rotor: five harmonics of its
// blade passing frequency over noise, 0.1 s long segments' worth of everything
// a good recording needs. Keys: rate, seconds, channels, blades, rpm, seed;
// float=1 for 32-bit float samples; and damage: nan=I or inf=I (sample I),
// claim=N (bytes of data the header claims), cut=N (bytes the file keeps),
// head-channels=N, head-rate=N (written to the header instead).
func mkwav(ts *testscript.TestScript, neg bool, args []string) {
	v := map[string]float64{
		"rate": 5120, "seconds": 2, "channels": 1, "blades": 2, "rpm": 3000, "nan": -1, "inf": -1,
		"cut": -1, "claim": -1, "head-channels": -1, "head-rate": -1,
	}

	if neg || len(args) == 0 {
		ts.Fatalf("usage: mkwav FILE [KEY=VALUE]…")
	}

	for _, a := range args[1:] {
		k, s, _ := strings.Cut(a, "=")
		x, err := strconv.ParseFloat(s, 64)
		ts.Check(err)
		v[k] = x
	}

	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, wav(v), 0o644))
}

func wav(v map[string]float64) []byte {
	le := binary.LittleEndian
	n, ch := int(v["rate"]*v["seconds"]), int(v["channels"])
	isFloat := v["float"] == 1

	tag, size := uint16(1), 2
	if isFloat {
		tag, size = 3, 4
	}

	rng := rand.New(rand.NewPCG(uint64(v["seed"]), uint64(v["rpm"])))
	var data []byte

	bpf := v["blades"] * v["rpm"] / 60
	for i := range n {
		for c := range ch {
			x := 0.002 * rng.NormFloat64()
			for m := 1; m <= 5; m++ {
				if f := float64(m) * bpf; f < v["rate"]/2 {
					x += 0.1 / float64(m+c) * math.Sin(2*math.Pi*f*float64(i)/v["rate"])
				}
			}

			switch {
			case i == int(v["nan"]):
				x = math.NaN()
			case i == int(v["inf"]):
				x = math.Inf(1)
			}

			if isFloat {
				data = le.AppendUint32(data, math.Float32bits(float32(x)))
			} else {
				data = le.AppendUint16(data, uint16(int16(math.Round(x*32767))))
			}
		}
	}

	or := func(key string, x int) int {
		if v[key] >= 0 {
			return int(v[key])
		}
		return x
	}

	claim := or("claim", len(data))
	b := append([]byte("RIFF"), le.AppendUint32(nil, uint32(36+claim))...)
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 16)
	b = le.AppendUint16(b, tag)
	b = le.AppendUint16(b, uint16(or("head-channels", ch)))
	b = le.AppendUint32(b, uint32(or("head-rate", int(v["rate"]))))
	b = le.AppendUint32(b, uint32(int(v["rate"])*ch*size))
	b = le.AppendUint16(b, uint16(ch*size))
	b = le.AppendUint16(b, uint16(8*size))
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(claim))
	b = append(b, data...)

	return b[:or("cut", len(b))]
}
