package private

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// restartLine is the line on the stdin of Init that makes it restart its program.
const restartLine = "restart"

// supervised is the program of an engine, as Init sees it.
type supervised struct {
	command []string
	files   []*os.File
	mu      sync.Mutex // guards the rest
	process *os.Process
	ending  bool // end was called, and startAgain was not called since
}

// end tells the program to end in order, as the service manager of a machine does. It may have ended.
func (s *supervised) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	_ = s.process.Signal(unix.SIGTERM)
}

// is reports whether a child of this process is the program.
func (s *supervised) is(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return pid == s.process.Pid
}

// startAgain starts the program again, which has ended, unless it has ended without a call of end. Mounts are as they were.
func (s *supervised) startAgain() (started bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		return false, nil
	}
	s.ending = false
	s.process, err = os.StartProcess(s.command[0], s.command, &os.ProcAttr{Files: s.files})
	return err == nil, err
}
