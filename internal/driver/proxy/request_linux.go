package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/driver/proxy/relay"
	"tare/internal/timelimit"
)

// request sends a request with the message as its body through the proxies to a server, which returns it. The server must see
// that each proxy has read the request, see forwarded. While both have their connections, met checks their addresses.
func (p *placedPath) request(ctx context.Context, message []byte, listen, dial netip.AddrPort, met func(client, server net.Conn) error) error {
	serve := func(client, server net.Conn) error {
		q, err := http.ReadRequest(bufio.NewReader(server))
		if err != nil {
			return err
		}
		body, err := io.ReadAll(io.LimitReader(q.Body, markerBytes+1))
		if err != nil {
			return err
		}
		if err := met(client, server); err != nil {
			return err
		}
		if err := p.forwarded(forwardedFor(q.Header.Values("X-Forwarded-For"))); err != nil {
			return err
		}
		_, err = fmt.Fprintf(server, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		return err
	}
	return meet(ctx, p.a.ns, p.b.ns, listen, dial, serve, func(client net.Conn) error {
		if _, err := fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", dial, len(message), message); err != nil {
			return err
		}
		answer, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(io.LimitReader(answer.Body, markerBytes+1))
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("the answer is %s", answer.Status)
		}
		return same(body, message)
	})
}

// forwarded checks the addresses that X-Forwarded-For has at the server: each proxy adds that of whoever sent it the request, so
// there is one for each proxy, and it is a loopback's where the proxy is beside the sender.
func (p *placedPath) forwarded(by []string) error {
	if len(by) != len(p.proxies) {
		return fmt.Errorf("the server sees %d addresses in X-Forwarded-For (%.200q), and each of %d proxies adds one: one does not read requests, or another does", len(by), strings.Join(by, ", "), len(p.proxies))
	}
	for i, text := range by {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("the server sees %.40q in X-Forwarded-For, which is no address", text)
		}
		if a.IsLoopback() != p.legs[i].local() {
			return fmt.Errorf("the server sees in X-Forwarded-For that %s has the request from %s, which is not the sender before it", p.proxies[i].proc.Name, a)
		}
	}
	return nil
}

// checkMessages is checkFrames for proxies that read requests. They write messages again, so the length of an encrypted record is
// not known: in each direction there must be one that is long enough.
func checkMessages(frames [][]byte, message []byte, encrypted bool) error {
	if !encrypted {
		return checkFrames(frames, message, false)
	}
	long := 0
	for _, f := range frames {
		if slices.ContainsFunc(records(f), func(length int) bool { return length >= relay.SealedLength(len(message)) }) {
			long++
		}
		if strings.Contains(string(f), string(message)) {
			return fmt.Errorf("one of %d frames on the underlay contains the message in the clear", len(frames))
		}
	}
	const ways = 2
	if long < ways {
		return fmt.Errorf("%d of %d frames on the underlay contain a TLS record as long as the message; it crosses %d times", long, len(frames), ways)
	}
	return nil
}

// records returns the lengths in what could be the headers of TLS records of application data in a frame.
func records(frame []byte) (lengths []int) {
	for i := 0; i+5 <= len(frame); i++ {
		if frame[i] == 0x17 && frame[i+1] == 3 && frame[i+2] == 3 {
			lengths = append(lengths, int(frame[i+3])<<8|int(frame[i+4]))
		}
	}
	return lengths
}

// maxAnswer bounds what a proxy says of itself, in bytes: a line for each route, or with Caddy's histograms fifty for each of its methods.
const maxAnswer = 4 << 20

// dialOwn connects to a proxy's own socket in its private /run. The connection is closed by whoever has it.
func dialOwn(ctx context.Context, path string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

// ask sends a query to a proxy's own socket in its private /run, and returns what it answers until it closes the connection.
func ask(ctx context.Context, path, query string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scaled(readyTimeout))
	defer cancel()
	c, err := dialOwn(ctx, path)
	if err != nil {
		return "", err
	}
	defer c.Close()
	end, _ := ctx.Deadline()
	if err := c.SetDeadline(end); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, query); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(c, maxAnswer))
	if err == nil && len(text) == maxAnswer {
		err = fmt.Errorf("it says more of itself than %d bytes", maxAnswer)
	}
	return string(text), err
}
