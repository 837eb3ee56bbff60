package udp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// answerRR is the server of udp_rr: it answers each request of the trial until
// the client has finished.
func answerRR(ctx context.Context, e *endpoint, p traffic.Params, peer traffic.Peer) (traffic.Report, error) {
	var got, sent, foreign int64
	start := e.clock.now()
	err := thread.Run(1, p.CPU, func(int) error {
		m := e.wire.Messenger(0)
		buf := make([]byte, max(p.PayloadSize, maxMessage)+1)
		answer := make([]byte, p.ResponseSize)
		over, stop := thread.Cancelled(ctx)
		defer stop()
		if err := e.wire.Say(0, e.message(sayGo, 0, 1)); err != nil && !errors.Is(err, socket.ErrRefused) && !socket.Again(err) {
			return fmt.Errorf("start the trial: %w", err)
		}
		for {
			if over.Load() {
				return fmt.Errorf("wait for requests: %d came: %w", got, context.Cause(ctx))
			}
			n, err := m.Recv(buf)
			switch {
			case socket.Again(err):
				select {
				case <-peer: // the client has finished, and its bye was lost
					return nil
				default:
				}
				continue
			case errors.Is(err, socket.ErrRefused):
				continue // the client has gone; its bye or its report says whether it had finished
			case err != nil:
				return fmt.Errorf("receive request: %w", err)
			}
			b := buf[:n]
			if n != p.RequestSize || binary.LittleEndian.Uint64(b) != e.tag {
				msg, ok := parseMessage(b)
				switch {
				case !ok || !shows(msg, p.Token):
					foreign++
				case msg.kind == sayBye:
					return nil
				case msg.kind == sayReady:
					_ = e.wire.Say(0, e.message(sayGo, 0, 1)) // the first one was lost; so may this one be
				}
				continue
			}
			got++
			copy(answer, b[:rrHeaderSize])
			if _, err := m.Send(answer); err == nil {
				sent++
			} else if !socket.Again(err) && !errors.Is(err, socket.ErrRefused) {
				return fmt.Errorf("send response: %w", err)
			}
		}
	})
	if err != nil {
		return traffic.Report{}, err
	}
	st := e.wire.State()
	r := e.report(p, sent*int64(p.ResponseSize), got*int64(p.RequestSize), sent)
	r.Traffic = time.Duration(e.clock.now() - start).Seconds()
	r.Datagrams = &traffic.Datagrams{Flows: []traffic.FlowCount{{Sent: sent, Received: got}}, Foreign: foreign + st.Strangers, SocketDrops: st.Dropped}
	return r, nil
}
