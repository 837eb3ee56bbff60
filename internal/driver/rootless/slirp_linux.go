package rootless

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"tare/internal/driver/daemon"
)

// slirp4netns is the program of that name, with its own port forwarding.
type slirp4netns struct{}

func (slirp4netns) name() string     { return "slirp4netns" }
func (slirp4netns) packaged() string { return "slirp4netns" }

// guest is the address that slirp4netns gives the sandbox, .100 of the subnet.
func (slirp4netns) guest() int { return 100 }

// leastSlirp is the first version that opens ports while it runs and is told a
// namespace's path.
const leastSlirp = 0.4

func (slirp4netns) identify(said string) (string, error) {
	m := regexp.MustCompile(`^slirp4netns version ((\d+\.\d+)\S*)`).FindStringSubmatch(said)
	if m == nil {
		return "", errOther
	}
	n, err := strconv.ParseFloat(m[2], 64)
	if err == nil && n < leastSlirp {
		err = fmt.Errorf("it is %s, which cannot publish ports; %g or later can", m[1], leastSlirp)
	}
	slirp := ""
	if lib := regexp.MustCompile(`(?m)^libslirp: (\S+)`).FindStringSubmatch(said); lib != nil {
		slirp = ", libslirp " + lib[1]
	}
	return m[1] + slirp, err
}

// api is where it listens for what to do, below its /run.
const api = "slirp.sock"

func (slirp4netns) args(b sandboxConfig) []string {
	return []string{
		"--configure", "--mtu=" + strconv.Itoa(b.mtu), "--cidr=" + b.address.Masked().String(), "--disable-host-loopback", "--disable-dns",
		"--api-socket=/run/" + api, "--netns-type=path", netns, tap,
	}
}

// publish asks for the port by its protocol: a JSON object there, one back
// (slirp4netns(1), API socket).
func (slirp4netns) publish(ctx context.Context, proc *daemon.Process, b sandboxConfig) error {
	socket := filepath.Join(proc.RunDir(), api)
	for _, proto := range []string{"tcp", "udp"} {
		ask := map[string]any{"execute": "add_hostfwd", "arguments": map[string]any{
			"proto": proto, "host_addr": b.public.Addr().String(), "host_port": b.public.Port(),
			"guest_addr": b.address.Addr().String(), "guest_port": b.public.Port(),
		}}
		var refused error
		err := proc.WaitFor(ctx, readyWithin, "open its socket", func() error {
			var answer struct {
				Error *struct{ Desc string } `json:"error"`
			}
			if err := say(ctx, socket, ask, &answer); err != nil {
				return err
			}
			if answer.Error != nil {
				refused = fmt.Errorf("publish port %s (%s) by %s: %s", b.public, proto, proc.Name, answer.Error.Desc)
			}
			return nil
		})
		if err != nil || refused != nil {
			return cmp.Or(err, refused)
		}
	}
	return nil
}

// say asks for one thing and reads the answer.
func say(ctx context.Context, socket string, ask, answer any) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(readyWithin)); err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(ask); err != nil {
		return err
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		return err
	}
	return json.NewDecoder(conn).Decode(answer)
}
