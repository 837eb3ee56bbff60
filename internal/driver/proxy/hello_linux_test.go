package proxy_test

import (
	"encoding/hex"
	"testing"

	"tare/internal/driver/proxy"
	"tare/internal/driver/proxy/relay"
	"tare/internal/testkit/must"
)

// serverHello is that of RFC 8448 section 3, in its record: TLS_AES_128_GCM_SHA256 and X25519.
const serverHello = "160303005a020000560303a6af06a4121860dc5e6e60249cd34c95930c8ac5cb1434dac155772ed3e2692800130100002e00330024001d0020c9828876112095fe66762bdbf7c672e156d6cc253b833df1dd69b1b04e751f0f002b00020304"

func TestNegotiated(t *testing.T) {
	b := must.Get(hex.DecodeString(serverHello))(t)
	frame := append([]byte("headers \x16\x03\x03 and more"), b...)
	got, ok := proxy.NegotiatedIn([][]byte{{}, []byte("other"), frame})
	must.Equal(t, []any{true, relay.State{Version: "TLS 1.3", Suite: "TLS_AES_128_GCM_SHA256", Curve: "X25519"}}, []any{ok, got})
	for n := range b {
		if got, ok := proxy.NegotiatedIn([][]byte{b[:n]}); ok {
			t.Errorf("the first %d bytes of a ServerHello are %v", n, got)
		}
	}
}

// FuzzNegotiated checks that any frames give nothing, or a version, a suite and a key exchange.
func FuzzNegotiated(f *testing.F) {
	b := must.Get(hex.DecodeString(serverHello))(f)
	f.Add(b)
	f.Add(append([]byte{0x16, 3, 3}, b...))
	f.Add([]byte{0x16, 3, 3, 0xff, 0xff, 2})
	f.Fuzz(func(t *testing.T, frame []byte) {
		got, ok := proxy.NegotiatedIn([][]byte{frame})
		if ok != (got != relay.State{}) || ok && (got.Version == "" || got.Suite == "" || got.Curve == "" || got.Mutual || len(frame) < 60) {
			t.Errorf("%x gives %+v, %t", frame, got, ok)
		}
	})
}
