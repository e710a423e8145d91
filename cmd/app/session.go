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
	"time"

	"doubletake/pipeline"
	"doubletake/pipeline/locate"
	"doubletake/report/answer/predict"
)

// request is a line that a session reads: a command with its arguments.
type request struct {
	Arguments []string `json:"arguments"`
	Dir       string   `json:"dir"` // becomes the working directory of the session; "" keeps the present one

	// Files are the contents of files by their names, which are arguments that stand for the files.
	Files map[string]string `json:"files"`
}

// reply is a line that a session writes: what the command printed, and its exit status.
type reply struct {
	Status   int    `json:"status"`
	Output   string `json:"output"`
	Messages string `json:"messages"` // what a shell would see on standard error
}

// session keeps the models that the commands of one process share. A key consists of the working directory and of the
// path or name that a command asked for.
type session map[string]*openModels

// openModels are models with the state that their files and folders had when they were read.
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

// answer reads requests and writes replies until the input ends or the context is cancelled.
func (s session) answer(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx = context.WithValue(ctx, sessionKey{}, s)
	requests := json.NewDecoder(bufio.NewReader(in))
	replies := json.NewEncoder(out)
	replies.SetEscapeHTML(false)
	for ctx.Err() == nil {
		var r request
		err := requests.Decode(&r)
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return usage("pipeline session reads lines such as {\"arguments\": [\"version\"]}: %v", err)
		}

		if err := replies.Encode(s.perform(ctx, r)); err != nil {
			return fmt.Errorf("write reply: %w", err)
		}
	}

	return fmt.Errorf("answer requests: %w", ctx.Err())
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
	for i, name := range slices.Sorted(maps.Keys(r.Files)) {
		content := r.Files[name]
		path := filepath.Join(dir, filepath.Base(name))
		if exists(path) {
			own := filepath.Join(dir, fmt.Sprintf("file-%d", i))
			if err := os.Mkdir(own, 0o700); err != nil {
				return nil, err
			}

			path = filepath.Join(own, filepath.Base(name))
		}

		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return nil, err
		}

		for i, word := range words {
			if word == name {
				words[i] = path
			}
		}
	}

	return words, nil
}

// open returns the models that path names. A session keeps them. It reads them again if one of the files and folders
// that they were read from has changed, so that it gives the same answers as a new process.
func (s session) open(path string) (*predict.Models, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find models: %w", err)
	}

	key := filepath.Join(dir, "\x00", path)
	if known := s[key]; known != nil && known.isCurrent() {
		return known.models, nil
	}

	models, err := locate.Models(path)
	if err != nil {
		return nil, err
	}

	read := append(models.Files(), locate.DefaultFile, path)
	s[key] = &openModels{models, states(read)}

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
