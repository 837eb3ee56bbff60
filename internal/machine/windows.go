package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/agent/transport"
	"tare/internal/process"
)

// windowsShell is a Windows machine whose user's shell is cmd or PowerShell. Commands are given to
// cmd in double quotes, which both pass on, and contain nothing that either treats specially there.
// The copy's directory is below the user's home, where ssh starts every command.
type windowsShell struct{ directory string }

const windowsProgram = "tare.exe"

func (w windowsShell) program() string { return w.directory + `\` + windowsProgram }

func (w windowsShell) launch(marker, program string, args []string, asRoot bool) (string, error) {
	if asRoot {
		return "", errors.New("there is no sudo on Windows")
	}
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return !isPlain(r, "._-:@/=,+") }) {
			return "", fmt.Errorf("the argument %q cannot be passed to Windows: it has other characters than letters, digits and . _ - : @ / = , +", a)
		}
	}
	set := "set " + transport.Environment + "&&set " + envDirectory + "=" + w.directory
	return windowsCommand("echo " + marker + "&&" + set + "&&" + program + " " + strings.Join(args, " ")), nil
}

func windowsCommand(line string) string { return `cmd.exe /c "` + line + `"` }

// placeOnWindows is place for a Windows machine. The program is copied by the user's sftp: neither
// cmd nor what it can start stores the bytes of its stdin unchanged. It returns errNoWindows if the
// machine is none.
func (r *remote) placeOnWindows(ctx context.Context, c *connection, word string) (far, error) {
	w := windowsShell{directoryPrefix(r.run) + word + directorySuffix}
	system, err := r.windowsSystem(ctx, c)
	if err != nil {
		return far{}, err
	}
	f, size, err := r.open(system)
	if err != nil {
		return far{}, err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return far{}, fmt.Errorf("read this program for machine %s: %w", r.name, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, copyTimeout(), fmt.Errorf("the copy of this program did not finish within %s", copyTimeout()))
	defer cancel()
	if err := r.upload(ctx, f.Name(), w.directory); err != nil {
		_, _, _ = r.onWindows(ctx, "rmdir /s /q "+w.directory, c.marker) // it may not be there
		return far{}, r.problem("place tare on", "the copy of "+strconv.FormatInt(size>>20+1, 10)+" MiB failed: "+err.Error(),
			"check that sftp works: "+strings.Replace(r.ssh.byHand(), "ssh", "sftp", 1)+", and free some space there")
	}
	c.shell, c.program = w, w.program()
	// cmd removes the directory, because Windows does not let a program remove its own file.
	guard := strings.Join([]string{c.program, Command, "--run", r.run, "guard", c.marker, w.directory}, " ") + "&rmdir /s /q " + w.directory
	if c.first, err = c.ssh.first(windowsCommand(guard)); err != nil {
		return far{}, r.explain("place tare on", "", err)
	}
	hello, err := greeting(ctx, c.first, newLines(c.first, c.marker))
	switch {
	case err != nil:
		return far{}, r.noCopy(ctx, c, system, err)
	case hello.SHA256 != hex.EncodeToString(hash.Sum(nil)):
		return far{}, r.problem("place tare on", "the copy in "+c.program+" is not what was sent", "check the disk of that machine")
	}
	return far{system, hello.User}, nil
}

// errNoWindows reports that a machine is not a Windows machine.
var errNoWindows = errors.New("this is no Windows machine")

// windowsSystem returns the system.
func (r *remote) windowsSystem(ctx context.Context, c *connection) (System, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout(), fmt.Errorf("the login did not finish within %s", loginTimeout()))
	defer cancel()
	name, arch, err := r.onWindows(ctx, "echo "+c.marker+" %OS% %PROCESSOR_ARCHITECTURE%", c.marker)
	if err != nil || name != "Windows_NT" {
		return System{}, errNoWindows
	}
	return System{windowsOS, identifier(archOf(arch))}, nil
}

// onWindows runs a line of cmd to its end, in a connection of its own, and returns the first word and
// the rest of what it wrote behind the marker.
func (r *remote) onWindows(ctx context.Context, line, marker string) (word, rest string, err error) {
	p, err := r.ssh.first(windowsCommand(line))
	if err != nil {
		return "", "", r.explain("log in to", "", err)
	}
	err = within(ctx, p, func() (err error) {
		word, rest, err = newLines(p, marker).next()
		return err
	})
	p.CloseStdin()
	return word, rest, errors.Join(err, p.Wait(ctx), p.Kill())
}

// upload creates a directory on the other side and copies the program there with sftp.
func (r *remote) upload(ctx context.Context, from, dir string) error {
	if strings.ContainsAny(filepath.ToSlash(from), "\"\\\n") {
		return fmt.Errorf("%s cannot be named to sftp", from)
	}
	host := r.ssh.address.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	args := []string{"-q", "-b", "-", "-o", "ControlMaster=no", "-o", "ControlPath=none"}
	if r.ssh.address.User != "" {
		args = append(args, "-o", "User="+r.ssh.address.User)
	}
	if r.ssh.address.Port != 0 {
		args = append(args, "-P", strconv.Itoa(int(r.ssh.address.Port)))
	}
	p := process.New("sftp", "sftp", slices.Concat(args, r.ssh.options(), []string{"--", host})...)
	r.ssh.prepare(p)
	if err := p.Start(r.ssh.start); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return errors.New("the sftp program was not found")
		}
		return err
	}
	_, err := fmt.Fprintf(p, "mkdir %s\nput \"%s\" %s/%s\n", dir, filepath.ToSlash(from), dir, windowsProgram)
	p.CloseStdin()
	err = errors.Join(err, within(ctx, p, func() error {
		_, err := io.Copy(io.Discard, p)
		return err
	}), p.Wait(ctx))
	if err == nil && p.Err() != nil {
		err = errors.New(oneLine(p.StderrTail()))
	}
	return errors.Join(err, p.Kill())
}
