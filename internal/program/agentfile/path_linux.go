package agentfile

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// name is the name of the file in memory, which the kernel shows as /memfd:tare-agent.
const name = "tare-agent"

// Path returns the file of the agent's program. It is in memory only, nothing can change it, and it
// ends with the processes that use it. The path is valid in this process, and in its children until
// they execute a program. The error says why there is none; the whole program is then the agent.
func Path() (string, error) {
	f, err := file()
	if err != nil {
		return "", err
	}
	return pathOf(f), nil
}

func pathOf(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// file is open until this process ends.
//
//nolint:gochecknoglobals // it is made once
var file = sync.OnceValues(func() (*os.File, error) {
	defer release(compressed) // which was needed once
	return create(compressed)
})

// release takes the whole pages of a string that is in the program's file out of the memory of this process. Whoever
// reads the string again reads them from the file. It must not get a string that was made while the program runs: its
// content would be lost.
func release(constant string) {
	page := uintptr(os.Getpagesize())
	start := unsafe.Pointer(unsafe.StringData(constant))
	skip := -uintptr(start) & (page - 1)
	if size := uintptr(len(constant)); size >= skip+page {
		whole := unsafe.Slice((*byte)(unsafe.Add(start, skip)), (size-skip)&^(page-1))
		_ = unix.Madvise(whole, unix.MADV_DONTNEED) // without it only more memory is used
	}
}

// create unpacks a gzip file into memory.
func create(compressed string) (*os.File, error) {
	if compressed == "" {
		return nil, errors.New("tare was built without make")
	}
	f, err := memory()
	if err != nil {
		return nil, fmt.Errorf("a program cannot be executed from memory here: %w", err)
	}
	if err = unpack(f, compressed); err == nil {
		// Without seals, any process of the user could change what root executes.
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("unpack the agent's program into memory: %w", err)
	}
	return f, nil
}

// memory creates a file in memory that may be executed. Before Linux 6.3 every such file may.
func memory() (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// IsHeldBy reports whether a process, whose directory in /proc is dir, has a file open that is an
// agent's program. A process that starts agents does.
func IsHeldBy(dir string, program os.FileInfo) bool {
	open, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return false // it has exited, or belongs to another user
	}
	for _, fd := range open {
		path := filepath.Join(dir, "fd", fd.Name())
		if to, err := os.Readlink(path); err != nil || !strings.HasPrefix(to, "/memfd:"+name) {
			continue
		}
		if held, err := os.Stat(path); err == nil && os.SameFile(held, program) {
			return true
		}
	}
	return false
}

// unpack writes the content of a gzip file to w.
func unpack(w io.Writer, compressed string) error {
	r, err := gzip.NewReader(strings.NewReader(compressed))
	if err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(r, MaxSize+1))
	if err == nil && n > MaxSize {
		err = fmt.Errorf("it has more than %d bytes", MaxSize)
	}
	if err != nil {
		return err
	}
	return nil
}
