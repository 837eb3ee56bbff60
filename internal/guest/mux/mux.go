// Package mux multiplexes several byte streams over one connection. A machine and its guest
// communicate over a single serial port, with one stream for the guest's first process and one for
// each process that it starts.
package mux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Control is the stream that always exists.
const Control = 0

// A frame is a stream's number and the length of the data that follows, both 2 bytes in big-endian
// order. A length of 0 closes the stream in that direction.
const (
	frameHeader = 4
	maxFrame    = 16 << 10
)

// ErrGone means that the session has ended.
var ErrGone = errors.New("the other side has closed the connection")

// Session is one side of a connection.
type Session struct {
	write sync.Mutex
	to    io.Writer

	mu      sync.Mutex
	streams map[uint16]*Stream
	ended   bool
	done    chan struct{}
	err     error
}

// New starts a session over a connection that preserves the order of bytes. It reads until an error
// or the end.
func New(from io.Reader, to io.Writer) *Session {
	s := &Session{to: to, streams: map[uint16]*Stream{}, done: make(chan struct{})}
	s.Open(Control)
	go s.read(from)
	return s
}

// Stream is one of the streams. Data that was not read yet is kept without a limit, because both
// sides wait for replies.
type Stream struct {
	session *Session
	id      uint16

	mu    sync.Mutex
	came  *sync.Cond
	buf   []byte
	ended error // why no more data will arrive
}

// Open returns the stream of a number, from which each side reads what the other writes to it. One
// side chooses the numbers.
func (s *Session) Open(id uint16) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(id)
}

func (s *Session) open(id uint16) *Stream {
	if st, ok := s.streams[id]; ok {
		return st
	}
	st := &Stream{session: s, id: id}
	st.came = sync.NewCond(&st.mu)
	if s.ended {
		st.ended = io.ErrUnexpectedEOF
	}
	s.streams[id] = st
	return st
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns why the session has ended, nil if it ended normally or still runs.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Session) read(from io.Reader) {
	err := s.frames(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(err, io.EOF) {
		s.err = err
	}
	s.ended = true
	for _, st := range s.streams {
		st.end(io.ErrUnexpectedEOF)
	}
	close(s.done)
}

func (s *Session) frames(from io.Reader) error {
	header := make([]byte, frameHeader)
	for {
		if _, err := io.ReadFull(from, header); err != nil {
			return err
		}
		id, size := binary.BigEndian.Uint16(header), int(binary.BigEndian.Uint16(header[2:]))
		if size > maxFrame {
			return fmt.Errorf("a frame of %d bytes: the other side does not use tare's protocol", size)
		}
		if size == 0 {
			s.Open(id).end(io.EOF)
			continue
		}
		part := make([]byte, size)
		if _, err := io.ReadFull(from, part); err != nil {
			return fmt.Errorf("a frame was truncated: %w", err)
		}
		s.Open(id).add(part)
	}
}

func (st *Stream) add(part []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.buf = append(st.buf, part...)
	st.came.Broadcast()
}

func (st *Stream) end(why error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended == nil {
		st.ended = why
	}
	st.came.Broadcast()
}

// Read waits for data. It returns io.EOF when the other side has closed the stream, and
// io.ErrUnexpectedEOF when the session has ended.
func (st *Stream) Read(b []byte) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for len(st.buf) == 0 && st.ended == nil {
		st.came.Wait()
	}
	if len(st.buf) == 0 {
		return 0, st.ended
	}
	n := copy(b, st.buf)
	if st.buf = st.buf[n:]; len(st.buf) == 0 {
		st.buf = nil
	}
	return n, nil
}

// Write sends b.
func (st *Stream) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), maxFrame)]
		if err := st.session.send(st.id, part); err != nil {
			return n, err
		}
		n, b = n+len(part), b[len(part):]
	}
	return n, nil
}

// CloseWrite closes the stream in this direction.
func (st *Stream) CloseWrite() error { return st.session.send(st.id, nil) }

// Close releases the stream on this side: its readers end, and its number can be reused. Call it
// after both sides have closed the stream.
func (st *Stream) Close() error {
	st.end(io.EOF)
	st.session.mu.Lock()
	defer st.session.mu.Unlock()
	if st.session.streams[st.id] == st {
		delete(st.session.streams, st.id)
	}
	return nil
}

func (s *Session) send(id uint16, part []byte) error {
	select {
	case <-s.done:
		return ErrGone
	default:
	}
	frame := make([]byte, frameHeader, frameHeader+len(part))
	binary.BigEndian.PutUint16(frame, id)
	binary.BigEndian.PutUint16(frame[2:], uint16(len(part)))
	s.write.Lock()
	defer s.write.Unlock()
	if _, err := s.to.Write(append(frame, part...)); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}
