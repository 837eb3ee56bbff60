package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
)

// folder is a directory whose files are opened relative to it: neither a name with .. nor a symbolic link
// can lead out of it, whoever owns it.
type folder struct {
	at    atomic.Pointer[string] // its path
	root  *os.Root
	owner owner // of new files
}

// errIrregular is the error for a pipe, a device or a directory, which could block a
// reader forever.
var errIrregular = errors.New("not a regular file")

// names lists the directory.
func (d *folder) names() ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// Path is the directory as it was given, or where it is since it was moved while trials were appended.
func (d *folder) Path() string { return *d.at.Load() }

// read returns the content of a file of at most that many bytes.
func (d *folder) read(name string, most int64) ([]byte, error) {
	f, size, err := d.openPlain(name, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, size) // a file that grows meanwhile is not read further
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // it has become shorter
	}
	return data[:n], err
}

// openPlain opens a regular file of at most that many bytes for reading, and returns its
// size.
func (d *folder) openPlain(name string, most int64) (*os.File, int64, error) {
	f, err := d.openRegular(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > most {
		err = fmt.Errorf("%s: %w: it has %d bytes, more than the maximum of %d", name, errTooLarge, info.Size(), most)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// openRegular opens a regular file in the way of [os.OpenFile], and waits for nothing: a pipe would block until
// somebody opens its other end. Errors: also errIrregular.
func (d *folder) openRegular(name string, flag int, perm fs.FileMode) (*os.File, error) {
	irregular := fmt.Errorf("%s: %w", name, errIrregular)
	f, err := d.root.OpenFile(name, flag|syscall.O_NONBLOCK, perm)
	if err != nil {
		if info, other := d.root.Stat(name); other == nil && !info.Mode().IsRegular() {
			return nil, irregular
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = irregular
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// add appends lines to a file. A write that fails leaves the file as it was, because the next one would continue its last line.
func (d *folder) add(name string, data []byte) error {
	sub, _ := path.Split(name)
	if err := d.makeFolder(sub); err != nil {
		return err
	}
	f, err := d.openAdding(name)
	if err != nil {
		return err
	}
	size, err := wholeLines(f)
	if err == nil {
		if _, err = f.Write(data); err != nil {
			err = errors.Join(err, f.Truncate(size))
		}
	}
	return errors.Join(err, f.Close())
}

// longestCut is where wholeLines looks for the end of the last whole line, in bytes from the end of the file.
const longestCut = 64 << 10

// wholeLines removes a last line without its end, which a process that was killed has left, and returns the size of the file. One
// longer than longestCut stays.
func wholeLines(f *os.File) (size int64, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	size = info.Size()
	end := make([]byte, min(size, longestCut))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return 0, err
	}
	whole := bytes.LastIndexByte(end, '\n') + 1
	if whole == len(end) || whole == 0 && size > longestCut {
		return size, nil
	}
	size -= int64(len(end) - whole)
	return size, f.Truncate(size)
}

// openAdding opens an additional file for appending and for reading its end, and creates it if necessary.
func (d *folder) openAdding(name string) (*os.File, error) {
	f, err := d.openRegular(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return d.openRegular(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	}
	if err == nil {
		d.owner.giveFile(f)
	}
	return f, err
}

// makeFolder creates a subdirectory, unless there is one.
func (d *folder) makeFolder(sub string) error {
	if sub == "" {
		return nil
	}
	return d.owner.mkdir(d.root, path.Clean(sub))
}

func (d *folder) replace(name string, data []byte) error {
	sub, base := path.Split(name)
	if err := d.makeFolder(sub); err != nil {
		return err
	}
	// Not os.CreateTemp: its mode 0600 would prevent other users from reading a report
	// that root created.
	temp := fmt.Sprintf("%s.%s.%08x.tmp", sub, base, rand.Uint32())
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	d.owner.giveFile(f)
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	if sub != "" {
		if err := d.sync(path.Clean(sub)); err != nil {
			return err
		}
	}
	return d.sync(".")
}

// sync makes new names in a directory survive a power failure. Some network and shared
// file systems do not support that and are used without it. Windows does not flush
// directories.
func (d *folder) sync(sub string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.root.Open(sub)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
