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
	"tare/internal/timelimit"
)

// Namespace opens the container's network namespace. It requires that the engine's processes are
// visible here, and permission to access them. Close only closes the handle.
func (c *Container) Namespace() (*linuxnet.NS, error) {
	if c.engine.local.Proc == "" {
		return nil, fmt.Errorf("enter container %s: the processes of engine %s are not visible here", c.Name, c.engine.Name)
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

// initExecTimeout bounds how long a container's first process may still be the runtime, which
// executes this program shortly after the container counts as started, on a real CPU.
const initExecTimeout = 2 * time.Second

// isFirst returns an error unless dir is that of the container's first process. A socket forwarded
// from another machine looks like a local one, and its process ids are then those of other
// processes here.
func (c *Container) isFirst(dir string) error {
	for until := time.Now().Add(timelimit.Scaled(initExecTimeout)); ; time.Sleep(time.Millisecond) {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH):
			return err
		// A sandbox of gVisor has the container's id as its last argument.
		case bytes.Contains(line, []byte("\x00"+c.Name+"\x00")), bytes.HasSuffix(line, []byte("\x00"+c.ID+"\x00")):
			return nil
		case err != nil, time.Now().After(until):
			return fmt.Errorf("process %d is not its first process: the container has exited, or engine %s runs on another machine", c.pid, c.engine.Name)
		}
	}
}
