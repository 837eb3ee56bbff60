package machine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/lab"
	"tare/internal/process"
)

// ssh is how the user's ssh program is called for one machine.
type ssh struct {
	address Address
	config  string                // of Options.Config
	socket  string                // of the shared connection; empty where ssh cannot share one
	start   func(*exec.Cmd) error // of Options.Start
}

// The time limits of ssh itself, in seconds: until the other side answers, and how often and how
// many times in a row a silent other side is asked whether it is still there.
const (
	connectSeconds = 10
	aliveSeconds   = 5
	aliveCount     = 3
)

// options are those of every call of ssh. They come before those of the user's configuration, of
// which the first value counts. Nothing may ask the user, and the connection is used for tare
// alone: it forwards nothing and runs nothing else.
func (s ssh) options() []string {
	var args []string
	if s.config != "" {
		args = append(args, "-F", s.config)
	}
	for _, o := range []string{
		"BatchMode=yes", "LogLevel=ERROR", "RequestTTY=no", "EscapeChar=none",
		"ConnectTimeout=" + strconv.Itoa(connectSeconds),
		"ServerAliveInterval=" + strconv.Itoa(aliveSeconds), "ServerAliveCountMax=" + strconv.Itoa(aliveCount),
		"ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "Tunnel=no",
		"PermitLocalCommand=no", "RemoteCommand=none", "ControlPersist=no",
	} {
		args = append(args, "-o", o)
	}
	return args
}

// destination ends the arguments of ssh before the command of the other side.
func (s ssh) destination() []string {
	var args []string
	if s.address.User != "" {
		args = append(args, "-l", s.address.User)
	}
	if s.address.Port != 0 {
		args = append(args, "-p", strconv.Itoa(int(s.address.Port)))
	}
	return append(args, "--", s.address.Host)
}

// byHand is the command with which a user tries the same connection.
func (s ssh) byHand() string {
	args := []string{"ssh"}
	if s.config != "" {
		args = append(args, "-F", s.config)
	}
	if s.address.Port != 0 {
		args = append(args, "-p", strconv.Itoa(int(s.address.Port)))
	}
	host := s.address.Host
	if s.address.User != "" {
		host = s.address.User + "@" + host
	}
	return strings.Join(append(args, host), " ")
}

// first starts the ssh that logs in, runs a command there, and lets the later ones use its
// connection. It ends with its stdin, once the command on the other side has.
func (s ssh) first(command string) (*process.Process, error) {
	control := []string{"-o", "ControlMaster=no", "-o", "ControlPath=none"}
	if s.socket != "" {
		control = []string{"-o", "ControlMaster=yes", "-o", "ControlPath=" + s.socket}
	}
	return s.run(control, command)
}

// channel starts an ssh that runs a command over the connection of the first.
func (s ssh) channel(command string) (*process.Process, error) {
	control := []string{"-o", "ControlMaster=no", "-o", "ControlPath=none"}
	if s.socket != "" {
		// If the connection is gone, ssh would make another one. It must not: the other side has
		// then removed what this one placed there.
		control = []string{"-o", "ControlMaster=no", "-o", "ControlPath=" + s.socket, "-o", "ProxyCommand=false"}
	}
	return s.run(control, command)
}

func (s ssh) run(control []string, command string) (*process.Process, error) {
	p := process.New("ssh", "ssh", slices.Concat(control, s.options(), s.destination(), []string{command})...)
	s.prepare(p)
	return p, p.Start(s.start)
}

// prepare makes p ask nobody.
func (ssh) prepare(p *process.Process) {
	p.Cmd.SysProcAttr = withoutTerminal()
	p.Cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "SSH_ASKPASS" || name == "SSH_ASKPASS_REQUIRE"
	}), "SSH_ASKPASS_REQUIRE=never")
	p.Cmd.WaitDelay, p.Stdin, p.Stdout = killTimeout(), true, true
}

// socketName is the name of the socket of a shared connection in its directory, and maxSocket the
// length of its path that every system allows: 104 bytes on macOS, less the 18 that ssh adds while
// it makes the socket.
const (
	socketName = "s"
	maxSocket  = 104 - 18
)

// runDirectory creates a directory of the run for the socket, which only this user can enter.
func runDirectory(run string) (dir string, err error) {
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		if dir, err = os.MkdirTemp(parent, directoryPrefix(run)+"*-ssh"); err != nil {
			continue
		}
		if len(filepath.Join(dir, socketName)) <= maxSocket {
			if err = lab.Mark(dir, run); err == nil {
				return dir, nil
			}
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return "", err
}
