package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/guest/mux"
	"tare/internal/timelimit"
)

// Init is a guest's first process. It returns an error only in a process that is not. Otherwise it
// powers the guest off when the port is closed, or after an error, which it prints on the console.
func Init(args []string) error {
	if len(args) > 0 || os.Getpid() != 1 {
		return errors.New("tare " + InitCommand + ": only a kernel starts this subcommand, as its first process")
	}
	if err := serveHost(); err != nil {
		fmt.Fprintf(os.Stderr, "tare: the guest cannot continue: %v\n", err)
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF) // it does not return; if it fails, the next one is tried
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	select {}
}

func serveHost() error {
	if err := mounts(); err != nil {
		return err
	}
	if err := loadModules(modulesDir); err != nil {
		return err
	}
	port, err := openPort()
	if err != nil {
		return err
	}
	session := mux.New(port, port)
	h, err := newHost(session)
	if err != nil {
		return err
	}
	return h.serve()
}

// modulesDir has the kernel's modules. Their names give the load order.
const modulesDir = "/modules"

func mounts() error {
	for _, m := range [][3]string{{"devtmpfs", "/dev", "mode=755"}, {"proc", "/proc", ""}, {"sysfs", "/sys", ""}, {"tmpfs", "/run", "mode=755"}, {"tmpfs", "/tmp", ""}} {
		if err := os.MkdirAll(m[1], 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m[0], m[1], m[0], 0, m[2]); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m[0], m[1], err)
		}
	}
	return nil
}

// loadModules loads the modules of a directory. It ignores modules that are already loaded or that
// find no device.
func loadModules(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("load module %s: %w", e.Name(), err)
		}
		_ = os.Remove(f.Name()) // frees its memory
	}
	return nil
}

const lookFor = 2 * time.Millisecond // between checks for a device

// portTimeout bounds the wait for the serial port, and deviceTimeout that for the network device:
// drivers find their devices shortly after they are loaded.
func portTimeout() time.Duration   { return timelimit.Scaled(20 * time.Second) }
func deviceTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }

// openPort opens the serial port by its name.
func openPort() (*os.File, error) {
	for until := time.Now().Add(portTimeout()); ; time.Sleep(lookFor) {
		path, err := findPort("/sys/class/virtio-ports")
		if err == nil {
			fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err == nil {
				return os.NewFile(uintptr(fd), path), nil
			}
			if !errors.Is(err, unix.ENOENT) {
				return nil, fmt.Errorf("open %s: %w", path, err)
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("there is no serial port named %s; check that the kernel has the module virtio_console", Port)
		}
	}
}

func findPort(class string) (string, error) {
	entries, err := os.ReadDir(class)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		name, err := os.ReadFile(filepath.Join(class, e.Name(), "name"))
		if err == nil && strings.TrimSpace(string(name)) == Port {
			return filepath.Join("/dev", e.Name()), nil
		}
	}
	return "", fs.ErrNotExist
}

// self returns the guest's hello message.
func self() Hello {
	h := Hello{Guest: Version}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				h.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	_, err := os.Stat("/proc/sys/net/ipv6/conf/default/accept_ra")
	h.IPv6 = err == nil
	return h
}
