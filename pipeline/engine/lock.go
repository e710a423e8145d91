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

// lock takes the work directory for this process. The kernel frees it when the
// process ends, however it ends.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, &WorkdirError{dir, err}
	}

	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, &WorkdirError{dir, err}
	}

	if ok, err := take(f); !ok {
		defer f.Close()
		if err == nil {
			b, _ := io.ReadAll(io.LimitReader(f, 200))
			return nil, &LockedError{dir, strings.TrimSpace(string(b))}
		}

		return nil, &WorkdirError{dir, fmt.Errorf("lock: %w", err)}
	}

	host, _ := os.Hostname()
	line := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().Format(time.DateTime))
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(line), 0)
		if err != nil {
			f.Close()
			return nil, &WorkdirError{dir, err}
		}
	}

	return func() {
		give(f)
		f.Close()
	}, nil
}
