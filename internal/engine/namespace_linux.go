package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"tare/internal/linuxnet"
)

// Namespace opens the container's network namespace. It needs an engine whose
// processes can be seen from here, and the rights to look into them. Closing it
// lets go of it only.
func (c *Container) Namespace() (*linuxnet.NS, error) {
	if c.engine.local.Proc == "" {
		return nil, fmt.Errorf("enter container %s: the processes of engine %s cannot be seen from here", c.Name, c.engine.Name)
	}
	if c.pid == 0 {
		return nil, fmt.Errorf("enter container %s: it is not running", c.Name)
	}
	dir := filepath.Join(c.engine.local.Proc, strconv.Itoa(c.pid))
	if err := c.isFirst(dir); err != nil {
		return nil, fmt.Errorf("enter container %s: %w", c.Name, err)
	}
	ns, err := linuxnet.OpenNS(c.Name, filepath.Join(dir, "ns", "net"))
	if err != nil {
		return nil, fmt.Errorf("enter container %s: %w", c.Name, err)
	}
	return ns, nil
}

// initExecTimeout bounds how long a container's first process may still be the runtime's,
// which becomes this program a moment after the container counts as started.
const initExecTimeout = 2 * time.Second

// isFirst returns an error unless dir is that of the container's first process. A
// socket that is forwarded from another machine looks like one of this one's, and its
// process ids are then somebody else's here.
func (c *Container) isFirst(dir string) error {
	for until := time.Now().Add(initExecTimeout); ; time.Sleep(time.Millisecond) {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH):
			return err
		case bytes.Contains(line, []byte("\x00"+c.Name+"\x00")):
			return nil
		case err != nil, time.Now().After(until):
			return fmt.Errorf("process %d is not its first: the container has ended, or engine %s runs on another machine", c.pid, c.engine.Name)
		}
	}
}
