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

// slirp4netns is the program of that name, with its built-in port forwarding.
type slirp4netns struct{}

func (slirp4netns) name() string        { return "slirp4netns" }
func (slirp4netns) packageName() string { return "slirp4netns" }

// hostNumber is the address that slirp4netns gives the sandbox, .100 of the subnet.
func (slirp4netns) hostNumber() int { return 100 }

// minSlirpVersion is the first version that can open ports while it runs and accepts a
// namespace's path.
const minSlirpVersion = 0.4

func (slirp4netns) identify(said string) (string, error) {
	m := regexp.MustCompile(`^slirp4netns version ((\d+\.\d+)[\w.+~-]*)`).FindStringSubmatch(said)
	if m == nil {
		return "", errWrongProgram
	}
	n, err := strconv.ParseFloat(m[2], 64)
	if err == nil && n < minSlirpVersion {
		err = fmt.Errorf("version %s cannot publish ports; version %g or later is required", m[1], minSlirpVersion)
	}
	slirp := ""
	if lib := regexp.MustCompile(`(?m)^libslirp: ([\w.+~-]+)`).FindStringSubmatch(said); lib != nil {
		slirp = ", libslirp " + lib[1]
	}
	return m[1] + slirp, err
}

// api is its API socket in its /run.
const api = "slirp.sock"

func (slirp4netns) args(b sandboxConfig) []string {
	return []string{
		"--configure", "--mtu=" + strconv.Itoa(b.mtu), "--cidr=" + b.address.Masked().String(), "--disable-host-loopback", "--disable-dns",
		"--api-socket=/run/" + api, "--netns-type=path", netns, tap,
	}
}

// publish requests the port over the API socket: a JSON object each way (slirp4netns(1),
// API socket).
func (slirp4netns) publish(ctx context.Context, proc *daemon.Process, b sandboxConfig) error {
	socket := filepath.Join(proc.RunDir(), api)
	for _, proto := range []string{"tcp", "udp"} {
		ask := map[string]any{"execute": "add_hostfwd", "arguments": map[string]any{
			"proto": proto, "host_addr": b.public.Addr().String(), "host_port": b.public.Port(),
			"guest_addr": b.address.Addr().String(), "guest_port": b.public.Port(),
		}}
		var refused error
		err := proc.WaitFor(ctx, readyTimeout(), "open its socket", func() error {
			var answer struct {
				Error *struct{ Desc string } `json:"error"`
			}
			if err := call(ctx, socket, ask, &answer); err != nil {
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

// call sends one request and reads the reply.
func call(ctx context.Context, socket string, ask, answer any) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(readyTimeout())); err != nil {
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
