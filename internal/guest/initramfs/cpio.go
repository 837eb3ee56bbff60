// Package initramfs writes the first file system of a Linux kernel: a cpio archive in
// the format "newc", as Documentation/driver-api/early-userspace/buffer-format.rst of
// the kernel has it. It is not compressed: unpacking costs an emulated CPU more than
// copying.
package initramfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
)

// The kinds of files, as stat(2) has them in a mode.
const (
	typeDir     = 0o040000
	typeRegular = 0o100000
	typeLink    = 0o120000
	typeChar    = 0o020000
)

// trailer is the name of the entry that ends an archive.
const trailer = "TRAILER!!!"

// Archive is being written. Parents are made as files need them. Paths are relative
// to the root and have no "..". An error of any call is that of Close, too.
type Archive struct {
	w     *bufio.Writer
	made  map[string]bool
	inode uint32
	err   error
}

// New begins an archive.
func New(w io.Writer) *Archive {
	return &Archive{w: bufio.NewWriterSize(w, 1<<16), made: map[string]bool{".": true}}
}

// Dir makes a directory, with permissions 755.
func (a *Archive) Dir(name string) error {
	name = path.Clean(name)
	if a.err != nil || a.made[name] {
		return a.err
	}
	return a.entry(name, typeDir|0o755, 0, 0, nil, 0)
}

// File writes a regular file of exactly size bytes.
func (a *Archive) File(name string, perm uint32, content io.Reader, size int64) error {
	return a.entry(name, typeRegular|perm&0o777, 0, 0, content, size)
}

// Link makes a symbolic link to target.
func (a *Archive) Link(name, target string) error {
	return a.entry(name, typeLink|0o777, 0, 0, strings.NewReader(target), int64(len(target)))
}

// Char makes a character device, for root alone.
func (a *Archive) Char(name string, major, minor uint32) error {
	return a.entry(name, typeChar|0o600, major, minor, nil, 0)
}

// Close ends the archive.
func (a *Archive) Close() error {
	if err := a.header(trailer, 0, 0, 0, 0); err != nil {
		return err
	}
	a.keep(a.w.Flush())
	return a.err
}

func (a *Archive) entry(name string, mode, major, minor uint32, content io.Reader, size int64) error {
	name = path.Clean(name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || strings.ContainsRune(name, 0) {
		a.keep(errors.New("it is no path below the root"))
	} else if a.made[name] {
		a.keep(errors.New("it is there already"))
	}
	if a.err == nil {
		if err := a.Dir(path.Dir(name)); err != nil {
			return err
		}
		a.made[name] = true
	}
	if err := a.header(name, mode, major, minor, size); err != nil {
		return fmt.Errorf("write %s into the guest's file system: %w", name, err)
	}
	if content == nil {
		return nil
	}
	n, err := io.Copy(a.w, io.LimitReader(content, size))
	if err == nil && n < size {
		err = fmt.Errorf("%d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	}
	a.keep(err)
	a.pad(size)
	if a.err != nil {
		return fmt.Errorf("write %s into the guest's file system: %w", name, a.err)
	}
	return nil
}

// header writes magic, inode, mode, owner, group, links, time, size, device of the
// file, device that it is, length of the name with its zero, and a checksum that newc
// does not use; each in 8 digits of hex, the name behind.
func (a *Archive) header(name string, mode, major, minor uint32, size int64) error {
	if size < 0 || size > math.MaxUint32 {
		a.keep(fmt.Errorf("%d bytes do not fit a cpio archive", size))
	}
	if a.err != nil {
		return a.err
	}
	a.inode++
	links := 1
	if mode&typeDir != 0 {
		links = 2
	}
	n, err := fmt.Fprintf(a.w, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.inode, mode, 0, 0, links, 0, size, 0, 0, major, minor, len(name)+1, 0, name)
	a.keep(err)
	a.pad(int64(n))
	return a.err
}

// pad fills up to the next multiple of 4 of what has just been written from one.
func (a *Archive) pad(written int64) {
	_, err := a.w.Write(make([]byte, (4-written%4)%4))
	a.keep(err)
}

func (a *Archive) keep(err error) {
	if a.err == nil {
		a.err = err
	}
}
