package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/runid"
)

// RoundTrip logs in on a machine through the user's ssh program, which runs nothing there, and returns the shortest round
// trip that this machine's kernel saw on the connection of the login, as linuxnet.ShortestRTT: that of the network and of
// the two kernels. Both must be Linux or speak TCP as it does; this machine must be Linux. An error of the login, and one
// of a machine that ssh reaches through another one, is an *Error.
func RoundTrip(ctx context.Context, a Address, o Options) (rtt time.Duration, failed error) {
	if a.Local() {
		return 0, errors.New("measure the round trip to " + LocalName + ": this is this machine; name another one, ssh://[user@]name[:port]")
	}
	config, err := configOf(o)
	if err != nil {
		return 0, err
	}
	id, err := runid.New() // by which gc finds what is left if this process is killed
	if err != nil {
		return 0, err
	}
	defer id.Release()
	r := &remote{name: a.Host, run: id.ID, options: o, ssh: ssh{address: a, config: config, start: o.Start}}
	if !canShare {
		return 0, r.problem("measure the round trip to", "this needs Linux", "measure it with ping, and give it with --rtt")
	}
	dir, err := runDirectory(id.ID)
	if err != nil {
		return 0, r.problem("connect to", "no directory for the connection could be created: "+err.Error(), "set TMPDIR to a directory with a short name that you can write to")
	}
	defer func() { failed = errors.Join(failed, os.RemoveAll(dir)) }()
	login := r.ssh
	login.socket = filepath.Join(dir, socketName)
	p, err := login.idle()
	if err != nil {
		return 0, r.explain("log in to", "", err)
	}
	defer func() { failed = errors.Join(failed, p.Kill()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout(), fmt.Errorf("the login did not finish within %s", loginTimeout()))
	defer cancel()
	err = p.WaitFor(ctx, func() (bool, error) {
		_, err := os.Stat(login.socket) // ssh makes it after the login
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
	switch {
	case errors.Is(err, process.ErrEnded):
		return 0, r.explain("log in to", p.StderrTail(), nil)
	case err != nil:
		return 0, r.problem("log in to", err.Error(), "make this work without a prompt: "+r.ssh.byHand()+" true")
	}
	rtt, err = linuxnet.ShortestRTT(p.PID())
	if errors.Is(err, linuxnet.ErrNoConnection) {
		return 0, r.problem("measure the round trip to", "ssh reaches it through another program or machine (ProxyJump, ProxyCommand), so this machine has no connection to it",
			"measure it there with ping, and give it with --rtt")
	}
	if err != nil {
		return 0, r.problem("measure the round trip to", err.Error(), "measure it with ping, and give it with --rtt")
	}
	return rtt, nil
}

// idle starts an ssh that logs in and runs nothing. It makes the socket when it has logged in, and ends when it is killed
// or this program ends.
func (s ssh) idle() (*process.Process, error) {
	p := process.New("ssh", "ssh", slices.Concat([]string{"-N", "-o", "ControlMaster=yes", "-o", "ControlPath=" + s.socket}, s.options(), s.destination())...)
	s.prepare(p)
	p.Stdin, p.Stdout = false, false
	if s.start != nil {
		return p, p.Start(s.start)
	}
	return p, p.StartTied(func(start func() error) error {
		runtime.LockOSThread() // the process ends with its thread
		defer runtime.UnlockOSThread()
		return start()
	})
}
