package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/traffic/admission"
)

// The sender of a stream writes parts of this size, which the kernel passes to the device as
// full-size segments, or as packets that the device segments.
const streamPart = 256 << 10

// maxStreamBytes bounds what a sender sends, and what a receiver takes of one connection.
const maxStreamBytes = 64 << 20

// confirmEvery is how many bytes a receiver takes between two confirmations. The first bytes are confirmed at once: on a slow path
// a sender sees that segments arrive.
const confirmEvery = 64 << 10

// listenForStream opens a port and returns a function that compares what arrives on it
// until the context ends.
func listenForStream(ctx context.Context, k *wire.PathProbe) (port uint16, answer func() probeResult, err error) {
	gate, err := admission.Listen(k.Address, k.Token+"\n", maxProbeConns)
	if err != nil {
		return 0, nil, err
	}
	return gate.Port(), func() probeResult { return takeStreams(ctx, gate, k.Token) }, nil
}

func takeStreams(ctx context.Context, gate *admission.Gate, token string) probeResult {
	var open sync.WaitGroup
	defer open.Wait()
	defer closeAtEnd(ctx, gate.Close)() // ends a wait in Next
	for {
		conn, _, err := gate.Next()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			break
		}
		if admission.IsAgain(err) {
			continue
		}
		if err != nil {
			return probeResult{refused: gate.Refused, err: err}
		}
		// Only a sender with the token comes here, once.
		open.Go(func() { takeStream(ctx, conn, token) })
	}
	gate.Finish()
	return probeResult{refused: gate.Refused}
}

// takeStream compares what arrives with what must, and confirms it in lines: "got 65536", and
// at the end "all 4194304", or "bad 1448" with the offset of the first byte that differs.
func takeStream(ctx context.Context, conn admission.Stream, token string) {
	defer conn.Close()
	want := pathContent(token)
	got, expected := make([]byte, streamPart), make([]byte, streamPart)
	var total, confirmed int64
	bad := false
	for ctx.Err() == nil && total < maxStreamBytes {
		n, err := conn.Read(got)
		if admission.IsAgain(err) {
			continue
		}
		_, _ = io.ReadFull(want, expected[:n]) // random bytes have no end
		if !bad && !bytes.Equal(got[:n], expected[:n]) {
			at := 0
			for got[at] == expected[at] {
				at++
			}
			// The rest is read, because closing with unread data could discard this line.
			bad = true
			_, _ = fmt.Fprintf(conn, "bad %d\n", total+int64(at)) // the sender notices if it is lost
		}
		total += int64(n)
		switch {
		case (err != nil || n == 0) && !bad:
			_, _ = fmt.Fprintf(conn, "all %d\n", total)
			return
		case err != nil || n == 0:
			return
		case bad:
			continue
		}
		if confirmed == 0 || total-confirmed >= confirmEvery {
			confirmed = total
			if _, err := fmt.Fprintf(conn, "got %d\n", total); err != nil {
				return
			}
		}
	}
}

// sendStream sends data until the bytes or the time are used up, and waits until the
// receiver has confirmed it or nothing was confirmed for k.Stall.
func sendStream(ctx context.Context, k *wire.PathProbe) (*wire.PathStream, error) {
	conn, err := (&net.Dialer{Timeout: k.Stall}).DialContext(ctx, "tcp", k.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", k.Address, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	if _, err := fmt.Fprintf(conn, "%s\n", k.Token); err != nil {
		return nil, fmt.Errorf("send to %s: %w", k.Address, err)
	}
	s := &wire.PathStream{}
	written := make(chan int64, 1)
	go func() { written <- writeStream(conn, k) }()
	failure := readConfirmations(ctx, conn, k.Stall, s)
	_ = conn.SetWriteDeadline(time.Now()) // ends the writer if it is still blocked
	s.Sent = <-written
	if s.MSS, err = segmentSize(conn); err != nil {
		s.MSS = 0
	}
	switch {
	case failure != "":
		s.Failure = failure
	case s.BadAt == nil:
		s.Complete = s.Received == s.Sent
	}
	return s, nil
}

func writeStream(conn net.Conn, k *wire.PathProbe) (sent int64) {
	content, part := pathContent(k.Token), make([]byte, streamPart)
	for until := time.Now().Add(k.Time); sent < min(k.Bytes, maxStreamBytes) && (sent == 0 || time.Now().Before(until)); {
		_, _ = io.ReadFull(content, part) // random bytes have no end
		n, err := conn.Write(part[:min(int64(len(part)), k.Bytes-sent)])
		if sent += int64(n); err != nil {
			return sent
		}
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the receiver notices if it fails
	}
	return sent
}

// maxConfirmation is longer than any line of a receiver.
const maxConfirmation = 64

// readConfirmations reads the receiver's lines until the last one. It returns why it gave up.
func readConfirmations(ctx context.Context, conn net.Conn, stall time.Duration, s *wire.PathStream) string {
	lines := bufio.NewReaderSize(conn, maxConfirmation)
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx).Error()
		}
		_ = conn.SetReadDeadline(time.Now().Add(stall)) // all kinds of connections used here have deadlines
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Sprintf("nothing was confirmed for %s", stall)
		case err != nil:
			return fmt.Sprintf("the connection ended: %v", err)
		}
		var what string
		var n int64
		if _, err := fmt.Sscanf(strings.TrimSpace(string(line)), "%s %d", &what, &n); err != nil || n < 0 {
			return "the receiver sent something else than a confirmation"
		}
		switch what {
		case "bad":
			s.BadAt = &n
			return ""
		case "got", "all":
			s.Received = n
		}
		if what == "all" {
			return ""
		}
	}
}
