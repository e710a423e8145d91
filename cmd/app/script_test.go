package app

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"doubletake/internal/longtest"
)

// The scripts call the program as a process of its own, which is this test
// binary running run: exit statuses, streams and working directories are real.
func TestMain(m *testing.M) {
	// The tests start the program hundreds of times: with a large heap it collects no garbage
	// as it starts.
	os.Setenv("GOGC", "400")
	testscript.Main(m, map[string]func(){"pipeline": func() { os.Exit(Main(Extensions{})) }})
}

// The scripts in testdata/script pass. Messages in them are written by hand and compared whole. The commands of the
// scripts, beside those of testscript, are the functions below.
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
				return longtest.IsLong(), nil
			}

			return false, fmt.Errorf("unknown condition %q", c)
		},
	})
}

// exits STATUS COMMAND ARGS… runs a command, which must end with that exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND ARGS…")
	}

	want, err := strconv.Atoi(args[0])
	ts.Check(err)

	status := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else {
		ts.Check(err)
	}

	if status != want {
		ts.Fatalf("exit status %d, expected %d", status, want)
	}
}

// unprivileged ARGS… runs the program as a user whom permissions bind. They do not bind root: if the test runs as root,
// the program runs as nobody. It needs /proc. The output is written into the file output.
func unprivileged(ts *testscript.TestScript, neg bool, args []string) {
	path, err := os.Executable()
	ts.Check(err)

	program, err := os.Open(path)
	ts.Check(err)
	defer program.Close()

	cmd := exec.Command("/proc/self/fd/3", args...) // nobody may not enter the folder of the test binary
	cmd.Args[0] = "pipeline"
	cmd.ExtraFiles = []*os.File{program}
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH")}
	if os.Geteuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for dir := cmd.Dir; len(dir) > len(filepath.Clean(os.TempDir())); dir = filepath.Dir(dir) {
			ts.Check(os.Chmod(dir, 0o755))
		}
	}

	output, err := cmd.CombinedOutput()
	ts.Logf("%s", output)
	ts.Check(os.WriteFile(ts.MkAbs("output"), output, 0o644))

	mustSucceed := !neg
	hasSucceeded := err == nil
	if hasSucceeded != mustSucceed {
		ts.Fatalf("unprivileged %v: %v", args, err)
	}
}

// nopartial DIR [NAME…] fails if the work directory DIR is missing or has other files than those named (by base name),
// or files that are not complete: every Arrow file must be readable to its last row. Temporary files are nowhere
// allowed, not even below .cache.
func nopartial(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: nopartial DIR [NAME…]")
	}

	root := ts.MkAbs(args[0])
	allowed := args[1:]
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}

		isInCache := strings.HasPrefix(name, ".cache")
		switch {
		case strings.HasPrefix(entry.Name(), ".tmp"):
			return fmt.Errorf("a temporary file stayed: %s", name)
		case name == filepath.Join(".cache", "tmp"):
			return fmt.Errorf("the scratch folder stayed: %s", name)
		case entry.IsDir() || isInCache || name == ".lock":
			return nil
		case !slices.Contains(allowed, entry.Name()):
			return fmt.Errorf("published though the run failed: %s", name)
		case strings.HasSuffix(entry.Name(), ".arrow"):
			_, err := table.Read(path)
			return err
		}

		return nil
	})

	ts.Check(err)
}

// missing PATH… fails if one of the paths is there.
func missing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: missing PATH…")
	}

	for _, path := range args {
		_, err := os.Lstat(ts.MkAbs(path))
		isMissing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if !isMissing {
			ts.Fatalf("%s is there (%v)", path, err)
		}
	}
}

// replace FILE OLD NEW changes the one occurrence of OLD.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}

	file := args[0]
	old := args[1]
	content := ts.ReadFile(file)
	if n := strings.Count(content, old); n != 1 {
		ts.Fatalf("%q occurs %d times in %s, expected once", old, n, file)
	}

	ts.Check(os.WriteFile(ts.MkAbs(file), []byte(strings.Replace(content, old, args[2], 1)), 0o644))
}

// onejson FILE [PATH VALUE]… fails unless FILE (stdout, stderr or a file) is exactly one JSON document with each VALUE
// at its PATH. VALUE is a JSON text. PATH consists of keys and indices, joined with "/"; "len" is the number of
// elements.
func oneJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args)%2 != 1 {
		ts.Fatalf("usage: onejson FILE [PATH VALUE]…")
	}

	file := args[0]
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	var document any
	ts.Check(d.Decode(&document))

	var rest any
	if err := d.Decode(&rest); !errors.Is(err, io.EOF) {
		ts.Fatalf("%s contains more than one JSON document", file)
	}

	for i := 1; i < len(args); i += 2 {
		path := args[i]
		want := args[i+1]
		value, err := jsonAt(document, path)
		ts.Check(err)

		found, err := json.Marshal(value)
		ts.Check(err)

		if string(found) != want {
			ts.Fatalf("%s: found %s, expected %s", path, found, want)
		}
	}
}

// jsonAt returns the value at a path of a JSON document.
func jsonAt(document any, path string) (any, error) {
	value := document
	for _, step := range strings.Split(path, "/") {
		switch parent := value.(type) {
		case map[string]any:
			next, ok := parent[step]
			if !ok {
				return nil, fmt.Errorf("%s: no key %q", path, step)
			}

			value = next

		case []any:
			if step == "len" {
				value = len(parent)
				continue
			}

			index, err := strconv.Atoi(step)
			if err != nil || index < 0 || index >= len(parent) {
				return nil, fmt.Errorf("%s: no element %q among %d", path, step, len(parent))
			}

			value = parent[index]

		default:
			return nil, fmt.Errorf("%s: nothing below %v", path, value)
		}
	}

	return value, nil
}

// published returns the files that a work directory shows, by name, without those of the pipeline itself and without
// files of the given names.
func published(dir string, except []string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".cache":
			return fs.SkipDir
		case entry.IsDir() || entry.Name() == ".lock" || slices.Contains(except, entry.Name()):
			return nil
		}

		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}

		files[name], err = os.ReadFile(path)

		return err
	})

	return files, err
}

// sameTrees returns an error if two work directories show different files, apart from files of the given names.
func sameTrees(first, second string, except ...string) error {
	inFirst, err := published(first, except)
	if err != nil {
		return err
	}

	inSecond, err := published(second, except)
	if err != nil {
		return err
	}

	if len(inFirst) == 0 {
		return fmt.Errorf("%s shows no files", first)
	}

	for name, content := range inFirst {
		other, ok := inSecond[name]
		if !ok {
			return fmt.Errorf("%s is in %s only", name, first)
		}

		if !bytes.Equal(content, other) {
			return fmt.Errorf("%s differs between %s and %s", name, first, second)
		}
	}

	for name := range inSecond {
		if _, ok := inFirst[name]; !ok {
			return fmt.Errorf("%s is in %s only", name, second)
		}
	}

	return nil
}

// samefiles A B fails unless two work directories show the same files, byte for byte.
func sameFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: samefiles A B")
	}

	ts.Check(sameTrees(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}

// mkwav FILE [KEY=VALUE]… writes the sound of a rotor: five harmonics of its blade passing frequency over noise. Keys
// are rate, seconds, channels, blades, rpm, seed, and float=1 for 32-bit float samples. Keys of damage are nan=I or
// inf=I (sample I), claim=N (the bytes of data that the header states), cut=N (the bytes that the file keeps), and
// head-channels=N and head-rate=N (which the header states instead of the true ones).
func mkwav(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: mkwav FILE [KEY=VALUE]…")
	}

	settings := wavSettings{
		"rate": 5120, "seconds": 2, "channels": 1, "blades": 2, "rpm": 3000, "seed": 0, "float": 0, "nan": absent,
		"inf": absent, "cut": absent, "claim": absent, "head-channels": absent, "head-rate": absent,
	}
	for _, arg := range args[1:] {
		key, text, _ := strings.Cut(arg, "=")
		if _, ok := settings[key]; !ok {
			ts.Fatalf("mkwav has no key %q", key)
		}

		value, err := strconv.ParseFloat(text, 64)
		ts.Check(err)
		settings[key] = value
	}

	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, settings.file(), 0o644))
}

// wavSettings are the keys of mkwav.
type wavSettings map[string]float64

// absent is the value of a key of damage that is not done.
const absent = -1

// orDefault returns the value of a key, or the given one if the key is absent.
func (s wavSettings) orDefault(key string, value int) int {
	if s[key] == absent {
		return value
	}

	return int(s[key])
}

// samples returns the samples, frame by frame.
func (s wavSettings) samples() []float64 {
	rng := rand.New(rand.NewPCG(uint64(s["seed"]), uint64(s["rpm"])))
	bladePassingHz := s["blades"] * s["rpm"] / 60
	frames := int(s["rate"] * s["seconds"])
	var samples []float64
	for i := range frames {
		for channel := range int(s["channels"]) {
			x := 0.002 * rng.NormFloat64()
			for harmonic := 1; harmonic <= 5; harmonic++ {
				hz := float64(harmonic) * bladePassingHz
				if hz < s["rate"]/2 {
					x += 0.1 / float64(harmonic+channel) * math.Sin(2*math.Pi*hz*float64(i)/s["rate"])
				}
			}

			switch i {
			case int(s["nan"]):
				x = math.NaN()
			case int(s["inf"]):
				x = math.Inf(1)
			}

			samples = append(samples, x)
		}
	}

	return samples
}

// file returns the WAV file.
func (s wavSettings) file() []byte {
	le := binary.LittleEndian
	isFloat := s["float"] == 1
	var data []byte
	for _, x := range s.samples() {
		if isFloat {
			data = le.AppendUint32(data, math.Float32bits(float32(x)))
		} else {
			data = le.AppendUint16(data, uint16(int16(math.Round(x*math.MaxInt16))))
		}
	}

	format := uint16(1) // integers
	bytesPerSample := 2
	if isFloat {
		format = 3
		bytesPerSample = 4
	}

	rate := int(s["rate"])
	channels := int(s["channels"])
	dataBytes := s.orDefault("claim", len(data))

	b := le.AppendUint32([]byte("RIFF"), uint32(36+dataBytes))
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 16)
	b = le.AppendUint16(b, format)
	b = le.AppendUint16(b, uint16(s.orDefault("head-channels", channels)))
	b = le.AppendUint32(b, uint32(s.orDefault("head-rate", rate)))
	b = le.AppendUint32(b, uint32(rate*channels*bytesPerSample))
	b = le.AppendUint16(b, uint16(channels*bytesPerSample))
	b = le.AppendUint16(b, uint16(8*bytesPerSample))
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(dataBytes))
	b = append(b, data...)

	return b[:s.orDefault("cut", len(b))]
}
