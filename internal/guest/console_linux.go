package guest

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"tare/internal/lab"
	"tare/internal/timelimit"
)

// maxConsoleBytes is how much of a guest's console output is kept, in bytes.
const maxConsoleBytes = 256 << 10

// console keeps the console output of a guest.
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

// wait waits briefly for the rest of the output. Call it after the machine has ended.
func (c *console) wait() {
	select {
	case <-c.done:
	case <-time.After(timelimit.Scaled(time.Second)):
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

// last returns the last lines joined to one, or the kernel's panic message.
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

// keep writes the kept output to a file in the temporary directory, for people. It stays until
// tare gc removes it.
func (c *console) keep(run, label string) (string, error) {
	f, err := lab.CreateTemp(run, strings.ReplaceAll(label, "/", ".")+".boot.log")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(c.text())
	return f.Name(), errors.Join(err, f.Close())
}
