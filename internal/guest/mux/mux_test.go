package mux_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/guest/mux"
	"tare/internal/testkit/must"
)

// pair returns two connected sessions. cut closes the connection from a.
func pair(t interface{ Cleanup(func()) }) (a, b *mux.Session, cut func()) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	end := func() {
		aw.Close()
		bw.Close()
	}
	t.Cleanup(end)
	return mux.New(ar, aw), mux.New(br, bw), end
}

// Data arrives on the stream it was written to, in order, in pieces of any size.
func TestStreams(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b, cut := pair(t)
		defer cut()
		pieces := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) [2]int {
			return [2]int{rapid.IntRange(0, 3).Draw(rt, "stream"), rapid.IntRange(1, 40_000).Draw(rt, "size")}
		}), 1, 8).Draw(rt, "pieces")
		want := map[int]*bytes.Buffer{}
		for _, p := range pieces {
			b.Open(uint16(p[0])) // before the first data, as a guest does
		}
		for i, p := range pieces {
			part := bytes.Repeat([]byte{byte(i)}, p[1])
			if want[p[0]] == nil {
				want[p[0]] = &bytes.Buffer{}
			}
			want[p[0]].Write(part)
			if n, err := a.Open(uint16(p[0])).Write(part); n != len(part) || err != nil {
				rt.Fatalf("wrote %d of %d: %v", n, len(part), err)
			}
		}
		for id := range want {
			if err := a.Open(uint16(id)).CloseWrite(); err != nil {
				rt.Error(err)
			}
		}
		for id, w := range want {
			got, err := io.ReadAll(b.Open(uint16(id)))
			if err != nil || !bytes.Equal(got, w.Bytes()) {
				rt.Fatalf("stream %d: %d bytes of %d, %v", id, len(got), w.Len(), err)
			}
		}
	})
}

// Several goroutines may write to one session at once.
func TestConcurrentWriters(t *testing.T) {
	a, b, _ := pair(t)
	var wg sync.WaitGroup
	for id := range 8 {
		b.Open(uint16(id))
	}
	for id := range 8 {
		wg.Go(func() {
			for line := range 50 {
				if _, err := fmt.Fprintf(a.Open(uint16(id)), "%d\n", line); err != nil {
					t.Error(err)
				}
			}
			if err := a.Open(uint16(id)).CloseWrite(); err != nil {
				t.Error(err)
			}
		})
	}
	for id := range 8 {
		wg.Go(func() {
			text, err := io.ReadAll(b.Open(uint16(id)))
			lines := strings.Fields(string(text))
			must.True(t, err == nil && len(lines) == 50, "stream %d: %d lines, %v", id, len(lines), err)
			for i, l := range lines {
				must.EqualFor(t, fmt.Sprintf("stream %d, line %d", id, i), fmt.Sprint(i), l)
			}
		})
	}
	wg.Wait()
}

// When one side ends, readers and writers of the other get an error.
func TestSessionEnds(t *testing.T) {
	a, b, cut := pair(t)
	s := b.Open(5)
	read := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(s)
		read <- err
	}()
	cut()
	<-b.Done()
	<-a.Done()
	if err := <-read; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a reader got %v", err)
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, mux.ErrGone) {
		t.Errorf("a writer got %v", err)
	}
	if _, err := b.Open(6).Read(make([]byte, 1)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a late reader got %v", err)
	}
	must.True(t, b.Err() == nil, "a normal end: %v", b.Err())
}

// frames generates frames of size bytes each for streams first, first+1 and so on, n in all.
type frames struct {
	first, n, size int
	frame          []byte
}

func (f *frames) Read(b []byte) (int, error) {
	if len(f.frame) == 0 {
		if f.n == 0 {
			return 0, io.EOF
		}
		f.frame = make([]byte, 4+f.size)
		binary.BigEndian.PutUint16(f.frame, uint16(f.first))
		binary.BigEndian.PutUint16(f.frame[2:], uint16(f.size))
		f.first++
		f.n--
	}
	n := copy(b, f.frame)
	f.frame = f.frame[n:]
	return n, nil
}

// heap is the memory in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A guest that fills every stream makes this side keep nothing.
func TestUnknownStreamsAreDropped(t *testing.T) {
	before := heap()
	s := mux.New(&frames{first: 1, n: 1<<16 - 1, size: 4 << 10}, io.Discard)
	<-s.Done()
	if grown := int64(heap()) - int64(before); grown > 16<<20 {
		t.Errorf("it kept %d bytes", grown)
	}
	must.True(t, s.Err() == nil, "%v", s.Err())
	if text, err := io.ReadAll(s.Open(7)); len(text) > 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes of a stream that was not open: %v", len(text), err)
	}
	runtime.KeepAlive(s)
}

// Data that nobody reads ends the session, for one stream or for many.
func TestUnreadDataIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ streams, most int }{"one": {1, 16 << 20}, "many": {100, 64 << 20}} {
		t.Run(name, func(t *testing.T) {
			from := &endless{streams: c.streams, begin: make(chan struct{})}
			s := mux.New(from, io.Discard)
			for id := range c.streams {
				s.Open(uint16(id))
			}
			close(from.begin)
			<-s.Done()
			must.Fail(t, s.Err(), "were not read in time")
			must.True(t, from.sent <= c.most+1<<20, "it took %d bytes, more than %d", from.sent, c.most)
		})
	}
}

// endless generates frames for some streams in turn, without end.
type endless struct {
	frames
	streams, sent int
	begin         chan struct{}
}

func (e *endless) Read(b []byte) (int, error) {
	<-e.begin
	if e.n == 0 && len(e.frame) == 0 {
		e.frames = frames{n: e.streams, size: 16 << 10}
	}
	n, err := e.frames.Read(b)
	e.sent += n
	return n, err
}

// What a reader has taken, or will not take, does not count as unread.
func TestReadDataDoesNotCount(t *testing.T) {
	a, b, _ := pair(t)
	in, part := b.Open(1), make([]byte, 1<<20)
	for range 100 { // more than a session keeps
		go func() { _, _ = a.Open(1).Write(part) }()
		must.Get(io.ReadFull(in, make([]byte, len(part))))(t)
	}
	for range 100 {
		unread := b.Open(2)
		must.Get(a.Open(2).Write(part))(t)
		must.Do(t, unread.Close())
	}
}

// For any input a session ends, with an error if the input is not a frame.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'x', 0, 0, 0, 0})
	f.Add([]byte{0, 1, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		s := mux.New(bytes.NewReader(in), io.Discard)
		<-s.Done()
		if _, err := io.ReadAll(s.Open(mux.Control)); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
}
