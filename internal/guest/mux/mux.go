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
	"sync/atomic"
)

// Control is the stream that always exists.
const Control = 0

// A frame is a stream's number and the length of the data that follows, both 2 bytes in big-endian
// order. A length of 0 closes the stream in that direction.
const (
	frameHeader = 4
	maxFrame    = 16 << 10
)

// The most data that is kept until it is read, in bytes: of one stream, and of all streams of a session
// together. Readers normally wait for data, so more means that the other side does not behave.
const (
	maxStreamBuffer  = 16 << 20
	maxSessionBuffer = 64 << 20
)

// ErrGone means that the session has ended.
var ErrGone = errors.New("the other side has closed the connection")

// Session is one side of a connection.
type Session struct {
	write sync.Mutex
	to    io.Writer

	buffered atomic.Int64 // bytes that no stream's reader has read yet

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

// Stream is one of the streams. Data that was not read yet is kept up to a limit, at which the session
// ends: if a side stopped reading instead, both could wait for each other.
type Stream struct {
	session *Session
	id      uint16

	mu    sync.Mutex
	came  *sync.Cond
	buf   []byte
	ended error // why no more data will arrive
}

// Open returns the stream of a number, from which each side reads what the other writes to it. One
// side chooses the numbers. What arrives for a stream that this side has not opened is dropped, so the
// other side cannot make this one keep streams.
func (s *Session) Open(id uint16) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
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
			if st := s.known(id); st != nil {
				st.end(io.EOF)
			}
			continue
		}
		part := make([]byte, size)
		if _, err := io.ReadFull(from, part); err != nil {
			return fmt.Errorf("a frame was truncated: %w", err)
		}
		if st := s.known(id); st != nil {
			if err := st.add(part); err != nil {
				return err
			}
		}
	}
}

// known returns the stream of a number, nil if it is not open.
func (s *Session) known(id uint16) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[id]
}

// add keeps data until it is read. A stream that has ended takes no more.
func (st *Stream) add(part []byte) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended != nil {
		return nil
	}
	all := st.session.buffered.Add(int64(len(part)))
	if len(st.buf)+len(part) > maxStreamBuffer || all > maxSessionBuffer {
		return fmt.Errorf("more than %d bytes of stream %d, or %d of all streams, were not read in time", maxStreamBuffer, st.id, maxSessionBuffer)
	}
	st.buf = append(st.buf, part...)
	st.came.Broadcast()
	return nil
}

func (st *Stream) end(why error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended == nil {
		st.ended = why
	}
	st.came.Broadcast()
}

// discard drops what nobody will read.
func (st *Stream) discard() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.session.buffered.Add(int64(-len(st.buf)))
	st.buf = nil
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
	st.session.buffered.Add(int64(-n))
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
	st.discard()
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
