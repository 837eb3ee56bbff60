//go:build linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
)

// space is a network namespace of the run, by a path that opens it.
type space struct{ path string }

// spaces are the network namespaces that the run has made and that can be entered: named ones,
// and those of its processes.
func (r *tested) spaces() (found []space) {
	seen := map[string]bool{}
	if own, err := os.Readlink("/proc/self/ns/net"); err == nil {
		seen[own] = true
	}
	paths, _ := filepath.Glob(filepath.Join(linuxnet.PinDir, "*")) // the pattern is valid
	for _, p := range r.ours(func(proc) bool { return true }) {
		paths = append(paths, fmt.Sprintf("/proc/%d/ns/net", p.pid))
	}
	for _, path := range paths {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			continue // it has ended
		}
		if (space{path}).gone() {
			continue
		}
		id := fmt.Sprintf("net:[%d]", st.Ino)
		if !seen[id] {
			seen[id] = true
			found = append(found, space{path})
		}
	}
	return found
}

// gone reports whether the path opens no namespace: its process has ended, or its name is not mounted yet or any more.
func (s space) gone() bool {
	var fs unix.Statfs_t
	return unix.Statfs(s.path, &fs) != nil || fs.Type != unix.NSFS_MAGIC
}

// ip runs ip(8) in the namespace.
func (s space) ip(args ...string) (string, error) {
	out, err := exec.Command("nsenter", append([]string{"--net=" + s.path, "ip"}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ip %s in %s: %w: %s", strings.Join(args, " "), s.path, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// link is a network device of the run.
type link struct {
	space
	name string
}

// link waits for a device that carries traffic and chooses one at random.
func (r *tested) link() (link, error) {
	var found []link
	if !r.until(func() bool {
		found = nil
		for _, s := range r.spaces() {
			out, err := s.ip("-br", "link")
			if err != nil {
				continue // it has ended
			}
			for line := range strings.Lines(out) {
				f := strings.Fields(line)
				name, _, _ := strings.Cut(f[0], "@")
				if len(f) > 1 && name != "lo" && f[1] != "DOWN" {
					found = append(found, link{s, name})
				}
			}
		}
		return len(found) > 0
	}) {
		return link{}, errTooLate
	}
	return found[r.rng.IntN(len(found))], nil
}

// onLink runs ip(8) on a device.
func onLink(args ...string) func(*tested) error {
	return func(r *tested) error {
		l, err := r.link()
		if err != nil {
			return err
		}
		r.note("ip %s %s in %s", strings.Join(args, " "), l.name, l.path)
		return r.onLink(l, args...)
	}
}

// onLink does not fail if the device has been removed meanwhile.
func (r *tested) onLink(l link, args ...string) error {
	_, err := l.ip(append(args, l.name)...)
	if err == nil {
		return nil
	}
	if _, gone := l.ip("-br", "link", "show", "dev", l.name); gone != nil {
		return errTooLate
	}
	return err
}

// linkDownUp interrupts a link for a time.
func linkDownUp(r *tested) error {
	l, err := r.link()
	if err != nil {
		return err
	}
	long := r.between(50*time.Millisecond, 3*time.Second)
	r.note("%s in %s is down for %s", l.name, l.path, long)
	if err := r.onLink(l, "link", "set", "down", "dev"); err != nil {
		return err
	}
	time.Sleep(long)
	if err := r.onLink(l, "link", "set", "up", "dev"); !errors.Is(err, errTooLate) {
		return err
	}
	return nil // it was down until its end
}

// changeMTU changes the largest packet of a link.
func changeMTU(r *tested) error {
	l, err := r.link()
	if err != nil {
		return err
	}
	mtu := 1280 + r.rng.IntN(200)
	r.note("MTU %d on %s in %s", mtu, l.name, l.path)
	_, err = l.ip("link", "set", "dev", l.name, "mtu", fmt.Sprint(mtu))
	if err != nil {
		if _, gone := l.ip("-br", "link", "show", "dev", l.name); gone != nil {
			return errTooLate
		}
	}
	return err
}

// removeRules removes all rules in a namespace that has some.
func removeRules(r *tested) error {
	var found []space
	if !r.until(func() bool {
		found = nil
		for _, s := range r.spaces() {
			out, err := exec.Command("nsenter", "--net="+s.path, "nft", "list", "ruleset").Output()
			if err == nil && len(strings.TrimSpace(string(out))) > 0 {
				found = append(found, s)
			}
		}
		return len(found) > 0
	}) {
		return errTooLate
	}
	s := found[r.rng.IntN(len(found))]
	r.note("nft flush ruleset in %s", s.path)
	if err := run("nsenter", "--net="+s.path, "nft", "flush", "ruleset"); err != nil {
		if s.gone() {
			return errTooLate
		}
		return err
	}
	return nil
}

// stealPort takes the port of the data in every namespace of the run, until the run ends. Where
// a trial has it at that moment, it stays with the trial.
func stealPort(r *tested) error {
	if !r.until(func() bool { return len(r.spaces()) > 0 }) {
		return errTooLate
	}
	n := 0
	for _, s := range r.spaces() {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
			fd, err := listenIn(s.path, kind, pathspec.FirstPort)
			if errors.Is(err, unix.EADDRINUSE) || err != nil && s.gone() {
				continue
			}
			if err != nil {
				return err
			}
			n++
			r.undo = append(r.undo, func() error { return unix.Close(fd) })
		}
	}
	r.note("port %d taken %d times", pathspec.FirstPort, n)
	return nil
}

// listenIn binds a port in a namespace.
func listenIn(path string, kind, port int) (fd int, err error) {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine: it stays in the namespace
		result <- func() error {
			ns, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(ns)
			if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
				return err
			}
			if fd, err = unix.Socket(unix.AF_INET6, kind|unix.SOCK_CLOEXEC, 0); err != nil {
				return err
			}
			if err := unix.Bind(fd, &unix.SockaddrInet6{Port: port}); err != nil {
				unix.Close(fd)
				return err
			}
			if kind == unix.SOCK_STREAM {
				return unix.Listen(fd, 1)
			}
			return nil
		}()
	}()
	err = <-result
	return fd, err
}
