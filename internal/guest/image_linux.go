package guest

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"tare/internal/guest/initramfs"
	"tare/internal/guest/kernel"
	"tare/internal/program/agentfile"
)

// portModules are the modules that every guest needs for its serial port.
func portModules() []string { return []string{"virtio_pci", "virtio_console"} }

// The device number of the console for the first process's output (Documentation/admin-guide/
// devices.txt of the kernel).
const consoleMajor, consoleMinor = 5, 1

// image creates the guest's initramfs in memory: this program as the first process, and modules in
// load order.
func image(modules []kernel.Module, more func(*initramfs.Archive) error) (*os.File, error) {
	f, err := memory("tare-initramfs")
	if err != nil {
		return nil, fmt.Errorf("create the guest's initramfs in memory: %w", err)
	}
	if err := fill(f, modules, more); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// direct unpacks the kernel of a guest with an emulated CPU into memory, which saves that CPU the
// work. It returns nil if the image must be booted as it is.
func direct(s Spec) *os.File {
	if s.Accel != TCG {
		return nil
	}
	f, err := memory("tare-kernel")
	if err != nil {
		return nil
	}
	if err := s.Kernel.Direct(f); err != nil {
		f.Close()
		return nil
	}
	return f
}

// memory creates a file that exists only in memory.
func memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func fill(w io.Writer, modules []kernel.Module, more func(*initramfs.Archive) error) error {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the running program: %w", err)
	}
	defer program.Close()
	a := initramfs.New(w)
	_ = a.Char("dev/console", consoleMajor, consoleMinor) // Close returns the first error
	for _, dir := range []string{"proc", "sys", "run", "tmp", "root", modulesDir[1:]} {
		_ = a.Dir(dir)
	}
	_ = a.Link("var/run", "../run") // where programs of distributions look as well
	if err := a.Program(Program[1:], program); err != nil {
		return err
	}
	if err := addAgent(a); err != nil {
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

// addAgent adds the agent's program, which needs less memory in a guest and starts sooner. Without
// one, its path is a link to Program.
func addAgent(a *initramfs.Archive) error {
	path, err := agentfile.Path()
	if err != nil {
		return a.Link(agentProgram[1:], Program)
	}
	agent, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the agent's program: %w", err)
	}
	defer agent.Close()
	return a.Program(agentProgram[1:], agent)
}
