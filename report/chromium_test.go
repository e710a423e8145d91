package report

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tab is a tab of a Chromium that obeys the DevTools protocol over two pipes. A message is JSON and ends with a byte 0.
// https://chromedevtools.github.io/devtools-protocol describes the methods and events.
type tab struct {
	ctx     context.Context
	session string // of the tab, "" before there is one
	event   func(method string, parameters json.RawMessage)

	mu       sync.Mutex // guards what follows
	commands io.Writer
	count    int                  // of commands
	waiting  map[int]chan message // by the number of a command, who waits for its reply
}

// message is a command, a reply to one, or an event.
type message struct {
	ID         int             `json:"id,omitempty"`
	Session    string          `json:"sessionId,omitempty"`
	Method     string          `json:"method,omitempty"`
	Parameters any             `json:"params,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// parameters are the arguments of a command, by name.
type parameters map[string]any

// openTab starts the browser at path chromium with an empty tab. event gets every event of the tab. The browser ends
// with the test, or after four minutes.
func openTab(t *testing.T, chromium string, event func(method string, parameters json.RawMessage)) *tab {
	t.Helper()

	ctx, stop := context.WithTimeout(context.Background(), 4*time.Minute)
	profile, err := os.MkdirTemp("", "chromium")
	require.NoError(t, err)

	commandsOut, commands, err := os.Pipe()
	require.NoError(t, err)
	replies, repliesIn, err := os.Pipe()
	require.NoError(t, err)

	process := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--no-first-run", "--disable-background-networking", "--disable-extensions", "--disable-sync", "--mute-audio",
		"--force-color-profile=srgb", "--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	process.ExtraFiles = []*os.File{commandsOut, repliesIn} // 3 and 4 there
	require.NoError(t, process.Start())
	require.NoError(t, errors.Join(commandsOut.Close(), repliesIn.Close()))

	b := &tab{ctx: ctx, event: event, commands: commands, waiting: map[int]chan message{}}
	go b.listen(replies)

	t.Cleanup(func() {
		b.session = ""
		err := errors.Join(b.call("Browser.close", nil, nil), process.Wait(), commands.Close(), replies.Close(),
			os.RemoveAll(profile))
		stop()
		require.NoError(t, err, "end the browser")
	})

	var target struct{ TargetID string }
	require.NoError(t, b.call("Target.createTarget", parameters{"url": "about:blank"}, &target))

	var attached struct{ SessionID string }
	attach := parameters{"targetId": target.TargetID, "flatten": true}
	require.NoError(t, b.call("Target.attachToTarget", attach, &attached))

	b.session = attached.SessionID

	return b
}

// listen passes replies on to those who wait for them, and events to event, until the browser ends.
func (b *tab) listen(replies io.Reader) {
	for lines := bufio.NewReader(replies); ; {
		text, err := lines.ReadBytes(0)
		if err != nil {
			return
		}

		var parameters json.RawMessage
		m := message{Parameters: &parameters}
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			return
		}

		if m.ID == 0 {
			b.event(m.Method, parameters)
			continue
		}

		b.mu.Lock()
		waiting := b.waiting[m.ID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		waiting <- m
	}
}

// call sends a command, waits for its reply, and stores the result in result if it is not nil.
func (b *tab) call(method string, p parameters, result any) error {
	if p == nil {
		p = parameters{}
	}

	reply := make(chan message, 1)
	if err := b.send(message{Session: b.session, Method: method, Parameters: p}, reply); err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}

	select {
	case <-b.ctx.Done():
		return fmt.Errorf("wait for the reply to %s: %w", method, b.ctx.Err())

	case m := <-reply:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}

		if result == nil {
			return nil
		}

		return json.Unmarshal(m.Result, result)
	}
}

// send numbers and sends a command whose reply goes to the channel reply.
func (b *tab) send(m message, reply chan message) error {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.count++
	m.ID = b.count
	b.waiting[m.ID] = reply

	text, err := json.Marshal(m)
	if err != nil {
		return err
	}

	_, err = b.commands.Write(append(text, 0))

	return err
}

// evaluate evaluates an expression in JavaScript, waits if it is a promise, and stores its value in value if that is
// not nil.
func (b *tab) evaluate(js string, value any) error {
	var reply struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *exception
	}

	p := parameters{"expression": js, "returnByValue": value != nil, "awaitPromise": true}
	if err := b.call("Runtime.evaluate", p, &reply); err != nil {
		return err
	}

	if reply.ExceptionDetails != nil {
		return fmt.Errorf("evaluate %.80s: %s", js, reply.ExceptionDetails)
	}

	if value == nil {
		return nil
	}

	return json.Unmarshal(reply.Result.Value, value)
}

// exception describes a JavaScript exception.
type exception struct {
	Text      string
	Exception struct{ Description string }
}

func (e *exception) String() string { return e.Text + " " + e.Exception.Description }

// keyCodes are the keys that tests press, with their codes.
var keyCodes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "ArrowRight": 39, "ArrowDown": 40}

// press presses and releases a key.
func (b *tab) press(key string) error {
	p := parameters{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": keyCodes[key]}
	if key == "Enter" {
		p["text"] = "\r"
	}

	if err := b.call("Input.dispatchKeyEvent", p, nil); err != nil {
		return err
	}

	delete(p, "text")
	p["type"] = "keyUp"

	return b.call("Input.dispatchKeyEvent", p, nil)
}

// click scrolls to the element that a CSS selector finds, and clicks on its middle.
func (b *tab) click(selector string) error {
	var middle struct{ X, Y float64 }
	err := b.evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &middle)
	if err != nil {
		return err
	}

	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p := parameters{"type": kind, "x": middle.X, "y": middle.Y, "button": "left", "clickCount": 1}
		if err := b.call("Input.dispatchMouseEvent", p, nil); err != nil {
			return err
		}
	}

	return nil
}
