package guest

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"tare/internal/guest/initramfs"
	"tare/internal/guest/kernel"
)

// portModules are what any guest needs to talk to the machine.
func portModules() []string { return []string{"virtio_pci", "virtio_console"} }

// Where a console is for the first process's own words (Documentation/admin-guide/
// devices.txt of the kernel).
const consoleMajor, consoleMinor = 5, 1

// image makes the guest's first file system, in memory: this program as the first
// process, and modules in the order in which they are to be loaded.
func image(modules []kernel.Module, more func(*initramfs.Archive) error) (*os.File, error) {
	fd, err := unix.MemfdCreate("tare-initramfs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make the guest's file system in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "initramfs")
	if err := fill(f, modules, more); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func fill(w io.Writer, modules []kernel.Module, more func(*initramfs.Archive) error) error {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the running program: %w", err)
	}
	defer program.Close()
	a := initramfs.New(w)
	_ = a.Char("dev/console", consoleMajor, consoleMinor) // an error is that of Close, too
	for _, dir := range []string{"proc", "sys", "run", "tmp", "root", modulesDir[1:]} {
		_ = a.Dir(dir)
	}
	if err := a.Program(Program[1:], program); err != nil {
		return err
	}
	for i, m := range modules {
		if err := a.File(fmt.Sprintf("%s/%03d-%s.ko", modulesDir[1:], i, m.Name), 0o644, bytes.NewReader(m.Content), int64(len(m.Content))); err != nil {
			return err
		}
	}
	if more != nil {
		if err := more(a); err != nil {
			return err
		}
	}
	return a.Close()
}
