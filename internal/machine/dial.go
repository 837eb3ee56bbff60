package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/timelimit"
)

// EngineSocket stands for the Docker Engine's socket in Dial: the one of DOCKER_HOST there, else
// the first that exists where engines have theirs.
const EngineSocket = "docker"

// dialTimeout bounds how long the other side may take to connect.
func dialTimeout() time.Duration { return timelimit.Scaled(15 * time.Second) }

// Dial connects to a Unix socket of the machine: its absolute path, or EngineSocket. It does so with
// the rights of the user who is logged in there, or as root. The connection can be closed for
// writing, with CloseWrite.
func (m *Machine) Dial(ctx context.Context, socket string, asRoot bool) (net.Conn, error) {
	if m.remote == nil {
		path, err := socketPath(socket)
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	from := m.User
	if asRoot {
		if m.Root == nil {
			return nil, fmt.Errorf("connect to %s of machine %s as root: %s", socket, m.Name, m.NoRoot)
		}
		from = m.Root
	}
	l, ok := from.(launcher)
	if !ok {
		return nil, fmt.Errorf("connect to %s of machine %s: it was not made by Connect", socket, m.Name)
	}
	conn, err := l.dial(ctx, socket)
	if err != nil {
		return nil, fmt.Errorf("connect to %s of machine %s: %w", socket, m.Name, err)
	}
	return conn, nil
}

func (l launcher) dial(ctx context.Context, socket string) (net.Conn, error) {
	c, err := l.r.current()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, dialTimeout(), fmt.Errorf("no answer within %s", dialTimeout()))
	defer cancel()
	ch, err := l.r.start(ctx, c, l.sudo, []string{Command, "--run", l.r.run, "dial", c.marker, socket})
	if err != nil {
		return nil, err
	}
	err = within(ctx, ch.Process, func() error {
		for {
			word, rest, err := ch.out.next()
			switch {
			case err != nil:
				return err
			case word == "connected":
				return nil
			case word == "failed":
				return errors.New(oneLine(rest))
			}
		}
	})
	if err == nil {
		return &socketConn{channel: ch, path: socket}, nil
	}
	if errors.Is(err, io.EOF) {
		wait, cancel := context.WithTimeout(ctx, killTimeout())
		defer cancel()
		_ = ch.Wait(wait) // its output has ended
		err = errors.New(ch.ExitReason())
	}
	return nil, errors.Join(err, ch.Kill())
}

// socketConn is a connection to a socket on the other side.
type socketConn struct {
	*channel
	path string
	over sync.Once
	err  error
}

// socketCloseTimeout is how long a closed connection may take to pass on what was written.
func socketCloseTimeout() time.Duration { return timelimit.Scaled(2 * time.Second) }

// Close closes the connection. It may be called again.
func (s *socketConn) Close() error {
	s.over.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), socketCloseTimeout())
		defer cancel()
		s.err = s.channel.Close(ctx)
	})
	return s.err
}

// CloseWrite ends what is written.
func (s *socketConn) CloseWrite() error {
	s.CloseStdin()
	return nil
}

func (s *socketConn) LocalAddr() net.Addr  { return &net.UnixAddr{Net: "unix"} }
func (s *socketConn) RemoteAddr() net.Addr { return &net.UnixAddr{Net: "unix", Name: s.path} }

func (s *socketConn) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// socketPath returns the path of a socket on this machine.
func socketPath(socket string) (string, error) {
	if socket != EngineSocket {
		return socket, nil
	}
	if host, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		return host, nil
	}
	home, _ := os.UserHomeDir() // without one, none of its sockets exists
	all := []string{
		"/var/run/docker.sock", // of Docker
		filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "docker.sock"), "/run/user/" + strconv.Itoa(os.Getuid()) + "/docker.sock", // rootless
		filepath.Join(home, ".docker/run/docker.sock"), filepath.Join(home, ".docker/desktop/docker.sock"), // of Docker Desktop
	}
	for _, path := range all {
		if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
			return path, nil
		}
	}
	return "", errors.New("no socket of a Docker Engine was found there; start the engine (sudo systemctl start docker)")
}

// relay connects stdin and stdout to a Unix socket of this machine, after a line that says whether
// it could.
func relay(marker, socket string) error {
	path, err := socketPath(socket)
	var conn *net.UnixConn
	if err == nil {
		conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	}
	if err != nil {
		fmt.Printf("%s failed %s\n", marker, strings.ReplaceAll(err.Error(), "\n", " "))
		return err
	}
	defer conn.Close()
	if _, err := fmt.Printf("%s connected\n", marker); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.CloseWrite()
	}()
	_, err = io.Copy(os.Stdout, conn)
	return err
}
