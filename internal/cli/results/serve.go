package results

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/compare"
	"tare/internal/cli/rundir"
	"tare/internal/live/web"
	"tare/internal/result"
	"tare/internal/store"
)

// defaultListen is on loopback; the port spells TARE on a telephone.
const defaultListen = "127.0.0.1:8273"

func (a commands) serveCommand() *cobra.Command {
	var listen string
	var noToken bool
	c := &cobra.Command{
		Use: "serve [DIR]", Short: "Show runs as local web pages", Args: command.AtMostOne(),
		Long: "Show the runs below a directory ($TARE_RUNS or tare-runs when absent) as web pages: a list,\n" +
			"their reports, comparisons of two runs, results over time, the published claims with their\n" +
			"outcomes, and active runs as they progress. Nothing can be changed there. It listens on\n" +
			"loopback. The pages need the token in the address that\n" +
			"is printed: without it, other users of this machine could read runs that the rights of the\n" +
			"directory hide from them. The traffic is not encrypted.",
		Example: "  tare serve\n  tare serve results --listen 127.0.0.1:0",
		RunE: func(c *cobra.Command, args []string) error {
			return a.serve(c.Context(), rundir.Under(args), listen, noToken)
		},
	}
	c.Flags().StringVar(&listen, "listen", defaultListen, "address and port to listen on; port 0 takes a free one")
	c.Flags().BoolVar(&noToken, "no-token", false, "show the pages to every user of this machine; on loopback only")
	return c
}

func (a commands) serve(ctx context.Context, dir, listen string, noToken bool) error {
	if _, err := store.List(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: make a run first, or name the directory of existing runs", err)
		}
		return command.NotReadable(fmt.Errorf("serve: %w", err))
	}
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return command.Usage(fmt.Errorf("serve: --listen is %q; write an address and a port, such as %s", listen, defaultListen))
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return command.Environment(fmt.Errorf("serve: %s is taken, perhaps by another tare serve: choose another with --listen, or port 0 for a free one", listen))
	}
	if err != nil {
		return command.Environment(fmt.Errorf("serve: listen on %s: %w", listen, err))
	}
	s := web.Server{Runs: dir, Load: a.runs.Load, Claims: func() ([]result.StudyClaims, []string, error) {
		all, err := a.builtinClaims(nil)
		if err != nil {
			return nil, nil, err
		}
		return takeOutcomes(all, dir)
	}, Interval: time.Second,
		Title: func(path string) string { title, _ := rundir.Titles(path); return title },
	}
	compare.Serve(&s, a.runs, dir)
	if name, err := os.Hostname(); err == nil {
		s.Hosts = append(s.Hosts, strings.ToLower(name))
	}
	if host, _, _ := net.SplitHostPort(listen); host != "" {
		s.Hosts = append(s.Hosts, strings.ToLower(host))
	}
	if !noToken {
		s.Token = token()
	}
	if !onLoopback(l) {
		if noToken {
			return errors.Join(command.Usage(fmt.Errorf("serve: --no-token with --listen %s would show the runs to the network: leave one of the two out", listen)), l.Close())
		}
		fmt.Fprintln(a.Stderr, "others can reach this address: anyone who has all of it can read the runs")
	}
	fmt.Fprintln(a.Stdout, s.Address(l.Addr().String()))
	err = web.Listen(ctx, func(h *http.Server) error { return h.Serve(l) }, s.Handler())
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// onLoopback reports whether only this machine can reach a listener.
func onLoopback(l net.Listener) bool {
	addr, err := netip.ParseAddrPort(l.Addr().String())
	return err == nil && addr.Addr().Unmap().IsLoopback()
}

// token is 128 random bits.
func token() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
