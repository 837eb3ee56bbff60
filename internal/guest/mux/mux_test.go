package mux_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/guest/mux"
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
				rt.Fatal(err)
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
			if err != nil || len(lines) != 50 {
				t.Errorf("stream %d: %d lines, %v", id, len(lines), err)
			}
			for i, l := range lines {
				if l != fmt.Sprint(i) {
					t.Errorf("stream %d, line %d: %s", id, i, l)
				}
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
	if b.Err() != nil {
		t.Errorf("a normal end: %v", b.Err())
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
