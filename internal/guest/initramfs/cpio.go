// Package initramfs writes the initial file system of a Linux kernel: a cpio archive in the format
// "newc", as documented in the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
// It is not compressed, because unpacking costs an emulated CPU more than copying.
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

// The file types in a mode, as in stat(2).
const (
	typeDir     = 0o040000
	typeRegular = 0o100000
	typeLink    = 0o120000
	typeChar    = 0o020000
)

// trailer is the name of the entry that ends an archive.
const trailer = "TRAILER!!!"

// Archive is an archive being written. Parent directories are created as needed. Paths are relative
// to the root and have no "..". After an error of any call, Close returns it, too.
type Archive struct {
	w     *bufio.Writer
	made  map[string]bool
	inode uint32
	err   error
}

// New starts an archive.
func New(w io.Writer) *Archive {
	return &Archive{w: bufio.NewWriterSize(w, 1<<16), made: map[string]bool{".": true}}
}

// Dir adds a directory with permissions 755.
func (a *Archive) Dir(name string) error {
	name = path.Clean(name)
	if a.err != nil || a.made[name] {
		return a.err
	}
	return a.entry(name, typeDir|0o755, 0, 0, nil, 0)
}

// File adds a regular file of exactly size bytes.
func (a *Archive) File(name string, perm uint32, content io.Reader, size int64) error {
	return a.entry(name, typeRegular|perm&0o777, 0, 0, content, size)
}

// Link adds a symbolic link to target.
func (a *Archive) Link(name, target string) error {
	return a.entry(name, typeLink|0o777, 0, 0, strings.NewReader(target), int64(len(target)))
}

// Char adds a character device for root alone.
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
		a.keep(errors.New("the path is not below the root"))
	} else if a.made[name] {
		a.keep(errors.New("the path already exists"))
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

// header writes magic, inode, mode, owner, group, links, time, size, device of the file, device
// number, length of the name including its zero, and a checksum that newc does not use; each as 8
// hexadecimal digits, followed by the name.
func (a *Archive) header(name string, mode, major, minor uint32, size int64) error {
	if size < 0 || size > math.MaxUint32 {
		a.keep(fmt.Errorf("%d bytes do not fit into a cpio archive", size))
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

// pad fills up to a multiple of 4.
func (a *Archive) pad(written int64) {
	_, err := a.w.Write(make([]byte, (4-written%4)%4))
	a.keep(err)
}

func (a *Archive) keep(err error) {
	if a.err == nil {
		a.err = err
	}
}
