package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/timelimit"
)

// proxyMetrics is where kube-proxy tells its mode by default, on the node's own network only.
const proxyMetrics = "127.0.0.1:10249"

// proxyTimeout bounds a request to it.
func proxyTimeout() time.Duration { return timelimit.Scaled(time.Second) }

// proxyMode replies with the mode of the kube-proxy in the agent's network.
func proxyMode(ctx context.Context, req wire.Request) wire.Reply {
	mode, err := askProxy(ctx, proxyMetrics)
	if err != nil {
		return errorReply(req.ID, err)
	}
	return wire.Reply{ID: req.ID, ProxyMode: mode}
}

// askProxy asks a kube-proxy for its mode. The request is one line of HTTP, so that agents need no
// client for it.
func askProxy(ctx context.Context, at string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, proxyTimeout())
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
	if err != nil {
		return "", fmt.Errorf("ask kube-proxy for its mode: %w", err)
	}
	defer conn.Close()
	if until, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(until); err != nil {
			return "", fmt.Errorf("ask kube-proxy for its mode: %w", err)
		}
	}
	if _, err := io.WriteString(conn, "GET /proxyMode HTTP/1.0\r\nHost: localhost\r\n\r\n"); err != nil {
		return "", fmt.Errorf("ask kube-proxy for its mode: %w", err)
	}
	const most = 4 << 10
	mode, err := readProxyMode(io.LimitReader(conn, most))
	if err != nil {
		return "", fmt.Errorf("read the mode of kube-proxy: %w", err)
	}
	return mode, nil
}

// readProxyMode reads the answer: a word after the head.
func readProxyMode(from io.Reader) (string, error) {
	r := bufio.NewReader(from)
	status, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	if fields := strings.Fields(status); len(fields) < 2 || fields[1] != "200" {
		return "", fmt.Errorf("the answer is %.60q", strings.TrimSpace(status))
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	_, body, found := strings.Cut(strings.ReplaceAll(string(rest), "\r\n", "\n"), "\n\n")
	mode := strings.TrimSpace(body)
	if !found || mode == "" || strings.Trim(mode, "abcdefghijklmnopqrstuvwxyz") != "" {
		return "", errors.New("the answer is not a mode")
	}
	return mode, nil
}

// ProxyMode asks the kube-proxy in the agent's network for its mode, at its default address.
func (c *Client) ProxyMode(ctx context.Context) (string, error) {
	reply, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpProxyMode})
	return clean(reply.ProxyMode, maxFactName), err
}
