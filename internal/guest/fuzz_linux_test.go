package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"tare/internal/guest/mux"
	"tare/internal/testkit/must"
)

// FuzzConsole checks that whatever a guest writes to its console, an error quotes few printable
// characters of it.
func FuzzConsole(f *testing.F) {
	f.Add([]byte("[    0.000000] Linux version 6.1\r\nrun /init\r\n"))
	f.Add([]byte("a\nKernel panic - not syncing: x\nb"))
	f.Add([]byte("\x1b[2J\x1b]0;x\x07\xff\u202e\n\n\n\n\n"))
	f.Add(bytes.Repeat([]byte("x"), 3*maxConsoleBytes/2))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, w := must.Get2(os.Pipe())(t)
		c := newConsole(r)
		must.Get(w.Write(text))(t)
		w.Close()
		<-c.done
		if n := len(c.text()); n > maxConsoleBytes || c.size() != int64(len(text)) {
			t.Errorf("%d bytes are kept, %d of %d counted", n, c.size(), len(text))
		}
		last := c.last()
		if strings.ContainsFunc(last, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
			t.Errorf("an error quotes %q", last)
		}
	})
}

// control returns the frames of a guest that writes to the control stream.
func control(lines ...string) []byte {
	text := strings.Join(lines, "\n") + "\n"
	frame := binary.BigEndian.AppendUint16(nil, mux.Control)
	return append(binary.BigEndian.AppendUint16(frame, uint16(len(text))), text...)
}

// FuzzReplies checks that whatever a guest sends, the calls that wait for it end with a reply or an
// error on one line.
func FuzzReplies(f *testing.F) {
	f.Add(control(`{"hello":{}}`, `{"id":1,"links":{"eth0":{}}}`))
	f.Add(control(`{"id":1,"error":"no\nsuch\u001b[31m device"}`, `{"ended":{"stream":1,"code":-1,"fate":"killed"}}`))
	f.Add(control(`{"id":1,"reading":{"counters":{"Tcp.InSegs":18446744073709551615}}}`, `{"id":1}`, `{"id":2}`))
	f.Add(control(`{"id":1e99}`))
	f.Add([]byte{0, 0, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, sent []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		from, to := io.Pipe()
		session := mux.New(from, io.Discard)
		r := newRemote(session, "guest x")
		go func() { // as Machine does when the emulator ends
			<-session.Done()
			from.Close() // nobody reads it any more
			r.end(io.ErrUnexpectedEOF)
		}()
		answered := make(chan error, 1)
		go func() {
			_, err := r.call(ctx, request{Op: opLinks})
			answered <- err
		}()
		for deadline := time.Now().Add(time.Second); ; time.Sleep(10 * time.Microsecond) { // until the request waits
			r.mu.Lock()
			waits := r.next > 0
			r.mu.Unlock()
			if waits || time.Now().After(deadline) {
				break
			}
		}
		_, _ = to.Write(sent) // the session may refuse it
		to.Close()
		if err := <-answered; err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("the error %q is not on one line", err)
		}
		if ctx.Err() != nil {
			t.Error("the call was not answered when the guest ended")
		}
		<-session.Done()
	})
}
