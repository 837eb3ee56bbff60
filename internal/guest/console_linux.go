package guest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tare/internal/lab"
)

// maxConsoleBytes is how much of what a guest prints is kept, in bytes.
const maxConsoleBytes = 256 << 10

// console keeps what a guest prints.
type console struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	came int64
	done chan struct{}
}

func newConsole(from *os.File) *console {
	c := &console{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer from.Close()
		part := make([]byte, 4096)
		for {
			n, err := from.Read(part)
			c.mu.Lock()
			c.buf.Write(part[:n])
			if c.came += int64(n); c.buf.Len() > maxConsoleBytes {
				c.buf.Next(c.buf.Len() - maxConsoleBytes)
			}
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return c
}

// wait waits until all has come, for a moment: it is for after the machine's end.
func (c *console) wait() {
	select {
	case <-c.done:
	case <-time.After(time.Second):
	}
}

func (c *console) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.came
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

// shownLines is how many lines an error quotes.
const shownLines = 4

// last are the last lines, or from where the kernel panicked on, in one.
func (c *console) last() string {
	var lines []string
	for line := range strings.Lines(c.text()) {
		line = strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1
			}
			return r
		}, line)
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if strings.Contains(line, "Kernel panic") {
			return line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines[max(0, len(lines)-shownLines):], " | ")
}

// keep writes all of it into a file of the directory for temporary ones.
func (c *console) keep(run, label string) (string, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("%s%s-%s.boot.log", lab.Prefix, run, label))
	return path, os.WriteFile(path, []byte(c.text()), 0o600)
}
