package agent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/netip"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/timelimit"
)

// A path probe shows what the path between two agents does to large packets, before any
// trial: which sizes it passes, whether it tells the sender of those that it does not, and
// whether data arrives unchanged.

// maxPathWait bounds how long an agent listens for a path probe, whatever is requested.
func maxPathWait() time.Duration { return timelimit.Scaled(time.Minute) }

func pathTokenOf(req wire.Request) string {
	if req.Path == nil {
		return ""
	}
	return req.Path.Token
}

// pathContent returns the data of a probe: random bytes that follow from its token, so that
// neither a compressing link nor a constant error is overlooked.
func pathContent(token string) io.Reader { return mathrand.NewChaCha8(sha256.Sum256([]byte(token))) }

// listenForPathProbe opens a port and answers the probe with the right token.
func (s *server) listenForPathProbe(ctx context.Context, req wire.Request) wire.Reply {
	k := req.Path
	if k == nil || len(k.Token) != pathTokenBytes {
		return wire.Reply{ID: req.ID, Error: "path probe without an address or a token"}
	}
	if _, again := s.pathListeners[k.Token]; again {
		return wire.Reply{ID: req.ID, Error: "path probe with a token that is in use"}
	}
	ctx, cancel := context.WithTimeout(ctx, min(req.Wait, maxPathWait()))
	open := listenForSizes
	if k.Network == "tcp" {
		open = listenForStream
	}
	port, answer, err := open(ctx, k)
	if err != nil {
		cancel()
		return errorReply(req.ID, err)
	}
	await(s.pathListeners, k.Token, cancel, answer)
	return wire.Reply{ID: req.ID, Port: port}
}

// sendPathProbe sends a probe and replies with its results.
func sendPathProbe(ctx context.Context, req wire.Request) wire.Reply {
	if req.Path == nil || len(req.Path.Token) != pathTokenBytes {
		return wire.Reply{ID: req.ID, Error: "path probe without an address or a token"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, min(req.Wait, maxPathWait()), fmt.Errorf("the probe did not end within %s", req.Wait))
	defer cancel()
	k := *req.Path
	var err error
	if k.Network == "tcp" {
		k.Stream, err = sendStream(ctx, &k)
	} else {
		k.Sizes, err = searchSizes(ctx, &k)
	}
	if err != nil {
		return errorReply(req.ID, err)
	}
	return wire.Reply{ID: req.ID, Path: &k}
}

// pathTokenBytes is the length of a token, which datagrams begin with.
const pathTokenBytes = 32

// PathProbe is a probe from one agent to another.
type PathProbe struct {
	Sender, Receiver *Client
	Listen, Dial     netip.AddrPort // if the port to listen on is 0, the sender dials the port that the receiver got
	Wait             time.Duration  // for the whole probe
	Stall            time.Duration  // how long it may make no progress
	Loss             bool           // Sizes counts lost packets
}

// Sizes searches the largest packet that passes from the sender, whose device has this MTU; 0 stands for that of its route,
// as the system uses it, up to the MTU of jumbo frames.
func (p PathProbe) Sizes(ctx context.Context, mtu int) (wire.PathSizes, error) {
	got, err := p.run(ctx, wire.PathProbe{Network: "udp", MTU: mtu, Loss: p.Loss})
	if err == nil && got.Sizes == nil {
		err = errors.New("the agent replied without sizes")
	}
	if err != nil {
		return wire.PathSizes{}, err
	}
	for _, n := range got.Sizes.Unanswered {
		if n < 0 || n > got.Sizes.Probed {
			return wire.PathSizes{}, fmt.Errorf("the agent replied that %d of %d packets were not answered", n, got.Sizes.Probed)
		}
	}
	got.Sizes.ReportsUnseen = clean(got.Sizes.ReportsUnseen, maxFactValue)
	return *got.Sizes, nil
}

// Stream sends data for at most a time and compares it at the receiver.
func (p PathProbe) Stream(ctx context.Context, bytes int64, most time.Duration) (wire.PathStream, error) {
	got, err := p.run(ctx, wire.PathProbe{Network: "tcp", Bytes: bytes, Time: most})
	if err == nil && got.Stream == nil {
		err = errors.New("the agent replied without a stream")
	}
	if err != nil {
		return wire.PathStream{}, err
	}
	got.Stream.Failure = clean(got.Stream.Failure, maxFactValue)
	return *got.Stream, nil
}

func (p PathProbe) run(ctx context.Context, k wire.PathProbe) (*wire.PathProbe, error) {
	raw := make([]byte, pathTokenBytes/2)
	if _, err := rand.Read(raw); err != nil {
		return nil, fmt.Errorf("create a probe token: %w", err)
	}
	k.Token, k.Address, k.Stall = hex.EncodeToString(raw), p.Listen.String(), p.Stall
	reply, err := p.Receiver.call(ctx, wire.Request{Op: wire.OpPathListen, Path: &k, Wait: p.Wait + time.Second})
	if err != nil {
		return nil, err
	}
	dial := p.Dial
	if p.Listen.Port() == 0 {
		dial = netip.AddrPortFrom(dial.Addr(), reply.Port)
	}
	k.Address = dial.String()
	sent, err := p.Sender.call(ctx, wire.Request{Op: wire.OpPathSend, Path: &k, Wait: p.Wait})
	// The port must be closed before it is needed again.
	_, closeErr := p.Receiver.call(ctx, wire.Request{Op: wire.OpPathResult, Path: &k})
	if err = errors.Join(err, closeErr); err != nil {
		return nil, err
	}
	if sent.Path == nil {
		return nil, errors.New("the agent replied without a result")
	}
	return sent.Path, nil
}
