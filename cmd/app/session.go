package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doubletake/pipeline"
	"doubletake/pipeline/locate"
	"doubletake/report/answer/predict"
)

// request is a line that a session reads: a command with its arguments.
type request struct {
	Arguments []string `json:"arguments"`
	Dir       string   `json:"dir"` // becomes the working directory of the session; "" keeps the present one

	// Files are the contents of files by their names. An argument or a value of a flag that is one of the names stands
	// for the file.
	Files map[string]string `json:"files"`
}

// reply is a line that a session writes: what the command printed, and its exit status.
type reply struct {
	Status   int    `json:"status"`
	Output   string `json:"output"`
	Messages string `json:"messages"` // what a shell would see on standard error
}

// session keeps the models that the commands of one process share.
type session map[modelsName]*openModels

// modelsName is the name of models as a command wrote it, and the command's working directory. The name is not cleaned,
// because "rig" may be an experiment, and "./rig" is a path.
type modelsName struct{ dir, name string }

// openModels are the models of a name. files has the state of each file and folder that decides about them, as it was
// before they were read. models is nil if this state is not known: before models are read for the first time, the
// session does not know which files to look at.
type openModels struct {
	models *predict.Models
	files  map[string]fileState
}

// fileState shows whether a file was written again, or whether a folder got or lost an entry.
type fileState struct {
	size int64
	time time.Time
}

// sessionKey is the key of a session in a context.
type sessionKey struct{}

// runSession answers requests, lines of JSON, until the input ends.
func runSession(c *call) error {
	return c.shared().answer(c.ctx, os.Stdin, raw(c.stdout))
}

// shared returns the session that the command belongs to, or a new one if it was started by a shell.
func (c *call) shared() session {
	if s, ok := c.ctx.Value(sessionKey{}).(session); ok {
		return s
	}
	return session{}
}

// answer reads requests and writes replies until the input ends, a line is not a request, or the context is cancelled.
func (s session) answer(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, sessionKey{}, s))
	defer cancel()

	replies := json.NewEncoder(out)
	replies.SetEscapeHTML(false)
	requests := readRequests(ctx, in)
	for {
		var next incoming
		select {
		case <-ctx.Done():
			return fmt.Errorf("answer requests: %w", ctx.Err())
		case next = <-requests:
		}

		if errors.Is(next.err, io.EOF) {
			return nil
		}

		if next.err != nil {
			return usage("pipeline session reads lines such as {\"arguments\": [\"version\"]}: %v", next.err)
		}

		if err := replies.Encode(s.perform(ctx, next.request)); err != nil {
			return fmt.Errorf("write reply: %w", err)
		}
	}
}

// incoming is a request, or the error of reading one.
type incoming struct {
	request request
	err     error
}

// readRequests sends the requests of an input until the first error, which it sends too. It reads in a goroutine,
// because a cancelled context does not end a read that waits for input.
func readRequests(ctx context.Context, in io.Reader) <-chan incoming {
	requests := make(chan incoming)
	decoder := json.NewDecoder(bufio.NewReader(in))
	go func() {
		for {
			var next incoming
			next.err = decoder.Decode(&next.request)
			select {
			case <-ctx.Done():
				return
			case requests <- next:
			}

			if next.err != nil {
				return
			}
		}
	}()

	return requests
}

// perform runs the command of a request.
func (s session) perform(ctx context.Context, r request) reply {
	var output, messages bytes.Buffer
	stderr := &printer{w: &messages}
	status := 0
	if err := s.execute(ctx, r, &printer{w: &output}, stderr); err != nil {
		var text string
		status, text = pipeline.ExitStatus(err)
		fmt.Fprintln(stderr, text)
	}

	return reply{status, output.String(), messages.String()}
}

// execute runs the command of a request in its working directory, with its files. It refuses a session within a
// session.
func (s session) execute(ctx context.Context, r request, stdout, stderr io.Writer) error {
	if len(r.Arguments) > 0 && r.Arguments[0] == "session" {
		return usage("this is a session already")
	}

	if r.Dir != "" {
		if err := os.Chdir(r.Dir); err != nil {
			return fmt.Errorf("change the working directory: %w", err)
		}
	}

	if len(r.Files) == 0 {
		return execute(ctx, commands(), r.Arguments, stdout, stderr)
	}

	dir, err := os.MkdirTemp("", "pipeline-")
	if err != nil {
		return fmt.Errorf("write files of a request: %w", err)
	}
	defer os.RemoveAll(dir)

	words, err := r.writeFiles(dir)
	if err != nil {
		return fmt.Errorf("write files of a request: %w", err)
	}

	return execute(ctx, commands(), words, stdout, stderr)
}

// writeFiles writes the files of a request to a folder, and returns its arguments with the paths of the files. A file
// with the base name of another one gets a folder of its own.
func (r request) writeFiles(dir string) ([]string, error) {
	words := slices.Clone(r.Arguments)
	for number, name := range slices.Sorted(maps.Keys(r.Files)) {
		content := r.Files[name]
		path := filepath.Join(dir, filepath.Base(name))
		if exists(path) {
			own := filepath.Join(dir, fmt.Sprintf("file-%d", number))
			if err := os.Mkdir(own, 0o700); err != nil {
				return nil, err
			}

			path = filepath.Join(own, filepath.Base(name))
		}

		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return nil, err
		}

		for i, word := range words {
			flag, value, _ := strings.Cut(word, "=")
			if word == name {
				words[i] = path
			} else if strings.HasPrefix(flag, "-") && value == name {
				words[i] = flag + "=" + path
			}
		}
	}

	return words, nil
}

// open returns the models that a name or path means. A session keeps them. It reads them again if one of the files and
// folders that they were read from has changed, so that it gives the same answers as a new process.
func (s session) open(name string) (*predict.Models, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find models: %w", err)
	}

	return s.recall(modelsName{dir, name}, locate.Models)
}

// recall returns the models that are kept for a name, or reads them. It keeps them from the second reading on: the
// first reading finds the files whose state must be known before the models are read.
func (s session) recall(wanted modelsName, read func(name string) (*predict.Models, error)) (*predict.Models, error) {
	var before map[string]fileState
	if known := s[wanted]; known != nil {
		if known.models != nil && known.isCurrent() {
			return known.models, nil
		}

		before = states(slices.Collect(maps.Keys(known.files)))
	}

	models, err := read(wanted.name)
	if err != nil {
		return nil, err
	}

	after := states(slices.Concat(models.Files(), []string{locate.DefaultFile, wanted.name}))
	kept := &openModels{models, after}
	for path, state := range after {
		if earlier, ok := before[path]; !ok || earlier != state {
			kept.models = nil
		}
	}

	s[wanted] = kept

	return models, nil
}

// isCurrent reports whether the files are as they were when they were read.
func (o *openModels) isCurrent() bool {
	for path, state := range o.files {
		if stateOf(path) != state {
			return false
		}
	}

	return true
}

// states returns the state of each file.
func states(paths []string) map[string]fileState {
	found := map[string]fileState{}
	for _, path := range paths {
		if absolute, err := filepath.Abs(path); err == nil {
			found[absolute] = stateOf(absolute)
		}
	}

	return found
}

// stateOf returns the state of a file, which is zero if there is none.
func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}
	}

	return fileState{info.Size(), info.ModTime()}
}
