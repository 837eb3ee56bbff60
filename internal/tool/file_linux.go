package tool

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// outputFile is a file into which a tool writes. It is in memory only: it ends with the
// processes that have it open, so that nothing is left however they end.
type outputFile struct {
	path   string   // for the tool
	passed *os.File // inherited by the tool
}

// firstPassedFD is the file descriptor of the first file that a process inherits besides its
// standard streams.
const firstPassedFD = 3

func newOutputFile() (*outputFile, error) {
	fd, err := unix.MemfdCreate("tare-tool", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return &outputFile{path: "/proc/self/fd/" + strconv.Itoa(firstPassedFD), passed: os.NewFile(uintptr(fd), "the output of a tool")}, nil
}

// read returns up to maxOutput bytes of what the tool wrote.
func (f *outputFile) read() []byte {
	text, err := io.ReadAll(io.NewSectionReader(f.passed, 0, maxOutput))
	if err != nil {
		return nil
	}
	return text
}

func (f *outputFile) close() { f.passed.Close() }
