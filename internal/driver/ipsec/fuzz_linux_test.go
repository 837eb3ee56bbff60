package ipsec

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/strongswan/govici/vici"

	"tare/internal/driver/daemon"
	"tare/internal/process"
	"tare/internal/testkit/must"
)

// replay is a connection whose other side has already written everything, and reads nothing.
type replay struct{ io.Reader }

func (replay) Write(b []byte) (int, error)      { return len(b), nil }
func (replay) Close() error                     { return nil }
func (replay) LocalAddr() net.Addr              { return nil }
func (replay) RemoteAddr() net.Addr             { return nil }
func (replay) SetDeadline(time.Time) error      { return nil }
func (replay) SetReadDeadline(time.Time) error  { return nil }
func (replay) SetWriteDeadline(time.Time) error { return nil }

// packet encodes a packet of charon's command protocol: its length, its kind and the rest.
func packet(kind byte, rest ...string) []byte {
	body := append([]byte{kind}, strings.Join(rest, "")...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// pair, open and the constant shut encode parts of a message.
func pair(key, value string) string {
	return "\x03" + string(rune(len(key))) + key + "\x00" + string(rune(len(value))) + value
}

func open(key string) string { return "\x01" + string(rune(len(key))) + key }

const shut = "\x02"

// FuzzPackets checks that whatever charon answers to the request for its security associations is
// an error on one line or one pair, and that no packet needs more memory than it has bytes.
func FuzzPackets(f *testing.F) {
	child := open("tare-1") + pair("state", "INSTALLED") + pair("spi-in", "c0ffee01") + pair("spi-out", "c0ffee02") +
		pair("bytes-in", "7") + pair("bytes-out", "8") + pair("encr-alg", "AES_GCM_16") + pair("encr-keysize", "128") + shut
	event := packet(7, "\x07list-sa", open("tare"), pair("prf-alg", "PRF"), open("child-sas"), child, shut, shut)
	f.Add(slices.Concat(packet(5), event, packet(1), packet(5)))
	f.Add(slices.Concat(packet(5), event, event, packet(1), packet(5)))
	f.Add(slices.Concat(packet(5), packet(1, pair("success", "no"), pair("errmsg", "x")), packet(5)))
	f.Add([]byte("\xff\xff\xff\xff\x01"))
	f.Add(slices.Concat(packet(5), packet(7, "\x07list-sa", strings.Repeat(open("a"), 5000))))
	f.Fuzz(func(t *testing.T, answer []byte) {
		synctest.Test(t, func(t *testing.T) { // the client waits for an answer that does not come
			sources := []io.Reader{bytes.NewReader(answer), bytes.NewReader(nil)} // commands, events
			c := &charon{Process: &daemon.Process{Process: process.New("charon of host a", "charon")}}
			session := must.Get(vici.NewSession(vici.WithDialContext(func(context.Context, string, string) (net.Conn, error) {
				conn := replay{sources[0]}
				sources = sources[1:]
				c.conns = append(c.conns, conn)
				return &packets{Conn: conn}, nil
			})))(t)
			c.session = session
			got, err := c.installedSA()
			switch {
			case err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b"):
				t.Errorf("the error %q is not on one line", err)
			case err == nil && got.cipher == "" && got.keyExchange == "":
				t.Errorf("%+v of %q", got, answer)
			}
		})
	})
}

// A packet is passed on as it is, however it is read, and a larger one than charon writes is
// refused before anything is allocated for it.
func TestPackets(t *testing.T) {
	whole := slices.Concat(packet(5), packet(1, pair("a", "b")), binary.BigEndian.AppendUint32(nil, maxPacket+1), []byte("x"))
	p := &packets{Conn: replay{bytes.NewReader(whole)}}
	got, err := io.ReadAll(p)
	if want := whole[:len(whole)-5]; !bytes.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	must.Fail(t, err, "524289 bytes")
}

// After a command whose answer came too late all fail: that answer is not taken for the next one.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, far := net.Pipe()
		events, _ := net.Pipe()
		conns := []net.Conn{own, events}
		go func() {
			buf := make([]byte, 100)
			for _, wait := range []time.Duration{0, 24 * time.Hour, 0} {
				if _, err := far.Read(buf); err != nil {
					return
				}
				time.AfterFunc(wait, func() { _, _ = far.Write(packet(1, pair("version", "5.9"))) })
			}
		}()
		c := &charon{Process: &daemon.Process{Process: process.New("charon of host a", "charon")}, conns: conns}
		c.session = must.Get(vici.NewSession(vici.WithDialContext(func(context.Context, string, string) (net.Conn, error) {
			conn := conns[0]
			conns = conns[1:]
			return &packets{Conn: conn}, nil
		})))(t)
		defer c.disconnect()
		must.Equal(t, "5.9", text(must.Get(c.call("version", nil))(t), "version"))
		for range 2 {
			must.FailLine(t, "the command", must.Err(c.call("version", nil)), "request charon of host a to version: ", "timeout")
			time.Sleep(48 * time.Hour)
		}
	})
}
