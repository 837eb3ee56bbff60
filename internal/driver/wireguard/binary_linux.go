package wireguard

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/tunnel"
	"tare/internal/timelimit"
)

// program is the installed userspace WireGuard.
const program = "wireguard-go"

// answerTimeout limits how long wireguard-go may take to be ready or to reply.
func answerTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// binaryPeer is an endpoint of the tunnel run by wireguard-go.
type binaryPeer struct {
	*daemon.Process
	socket string
}

// startBinary starts the installed wireguard-go for both endpoints.
func startBinary(ctx context.Context, p *tunnel.Path, both endpointConfigs) (peers [2]peer, err error) {
	path, err := daemon.Find(program)
	if err != nil {
		return peers, &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("%s is not installed: %v; install it (Debian: apt-get install wireguard-go)", program, err)}
	}
	if err := needTUN(p.Mode); err != nil {
		return peers, err
	}
	version, err := daemon.VersionLine(ctx, path, "--version", program+" ")
	if err != nil {
		return peers, &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("%v; install a %s that reports it, or leave this mode out", err, program)}
	}
	var up [2]*binaryPeer
	for i, s := range p.Sides() {
		// It allocates buffers for its MTU at start. WG_TUN_NAME_FILE and similar variables
		// have no effect, because the environment is not inherited.
		proc, err := daemon.Program{
			Name: program + " of host " + s.At, Run: both[i].Run, Path: path, Args: []string{"--foreground", device},
			Env: []string{"LOG_LEVEL=error", "WG_PROCESS_FOREGROUND=1"}, Dirs: []string{"wireguard"}, Start: s.NS.Start,
		}.Launch()
		if err != nil {
			return peers, err
		}
		p.AddProcess(proc)
		p.AddHandler(s, "process", program, counterOwner)
		up[i] = &binaryPeer{proc, filepath.Join(proc.RunDir(), "wireguard", device+".sock")}
		peers[i] = up[i]
	}
	for i, s := range p.Sides() {
		if err := up[i].waitReady(ctx); err != nil {
			return peers, err
		}
		if err := s.NS.SetMTU(device, p.MTU); err != nil {
			return peers, err
		}
		if _, err := up[i].request("set=1\n" + both[i].uapi() + "\n"); err != nil {
			return peers, err
		}
		if err := p.AdoptDevice(s, device); err != nil {
			return peers, err
		}
	}
	p.AddFact("WireGuard", fmt.Sprintf("%s (%s)", version, path))
	return peers, nil
}

// waitReady waits until the process listens on its socket, which exists a moment before.
func (w *binaryPeer) waitReady(ctx context.Context) error {
	return w.WaitFor(ctx, answerTimeout(), "open its socket", func() error {
		conn, err := (&net.Dialer{Timeout: answerTimeout()}).DialContext(ctx, "unix", w.socket)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// request sends a request in WireGuard's configuration protocol and checks the result.
// Requests may contain keys, so they are not in any error.
func (w *binaryPeer) request(what string) (c counters, err error) {
	conn, err := (&net.Dialer{Timeout: answerTimeout()}).DialContext(context.Background(), "unix", w.socket)
	if err == nil {
		defer conn.Close()
		if err = conn.SetDeadline(time.Now().Add(answerTimeout())); err == nil {
			_, err = io.WriteString(conn, what)
		}
	}
	if err != nil {
		return c, fmt.Errorf("send a request to %s: %w", w.Name, err)
	}
	answer, err := untilEmpty(conn)
	if err != nil {
		return c, fmt.Errorf("read the reply of %s: %w", w.Name, err)
	}
	if c, err = parseCounters(answer); err != nil {
		return c, fmt.Errorf("%s: %w", w.Name, err)
	}
	return c, nil
}

// untilEmpty reads a reply, which ends with an empty line.
func untilEmpty(r io.Reader) (string, error) {
	var all []byte
	buf := make([]byte, 4096)
	for !strings.HasSuffix(string(all), "\n\n") {
		n, err := r.Read(buf)
		all = append(all, buf[:n]...)
		if err != nil {
			return "", err
		}
	}
	return string(all), nil
}

func (w *binaryPeer) transfer() (tx, rx uint64, agreed time.Time, err error) {
	c, err := w.request("get=1\n\n")
	return c.TX, c.RX, c.Handshake, err
}
