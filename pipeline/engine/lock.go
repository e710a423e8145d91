package engine

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// LockedError reports that another process holds the work directory.
type LockedError struct{ Dir, Holder string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("lock %s: another run is at work there (%s); wait for it, or stop it", e.Dir, e.Holder)
}

// lock takes the work directory for this process, until unlock is called or the
// process ends. It returns a *LockedError if another process has it.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, &WorkdirError{dir, err}
	}

	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, &WorkdirError{dir, err}
	}

	ok, err := take(file)
	if err != nil {
		file.Close()
		return nil, &WorkdirError{dir, fmt.Errorf("lock: %w", err)}
	}

	if !ok {
		defer file.Close()
		data, _ := io.ReadAll(io.LimitReader(file, 200)) // without the text the message is still clear

		return nil, &LockedError{dir, strings.TrimSpace(string(data))}
	}

	if err := describeHolder(file); err != nil {
		file.Close()
		return nil, &WorkdirError{dir, err}
	}

	return func() {
		give(file)
		file.Close()
	}, nil
}

// describeHolder writes to the file of the lock which process holds it, for LockedError.
func describeHolder(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return nil //nolint:nilerr // a file system may have locks but not this; a stale description does no harm
	}

	host, _ := os.Hostname()
	line := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().Format(time.DateTime))
	_, err := file.WriteAt([]byte(line), 0)

	return err
}
