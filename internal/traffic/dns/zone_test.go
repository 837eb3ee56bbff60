package dns

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"tare/internal/testkit/must"
)

const token = "0123456789abcdef"

func zone(t testing.TB, token string, ipv6 bool) *Zone {
	t.Helper()
	z := must.Get(NewZone(token, ipv6))(t)
	return z
}

// Every name has its own query, and its answer is the right one for this query alone.
func TestZone(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		z, again, other := zone(t, token, ipv6), zone(t, token, ipv6), zone(t, "other", ipv6)
		query, answer := make([]byte, z.QuerySize()), make([]byte, z.AnswerSize())
		seen := map[string]bool{}
		for n := range uint64(Names) {
			z.Query(query, n, uint16(n))
			must.Require(t, !seen[string(query[12:])], "query %d is a duplicate", n)
			seen[string(query[12:])] = true
			same := make([]byte, z.QuerySize())
			if again.Query(same, n+Names, uint16(n)); !bytes.Equal(query, same) {
				t.Fatalf("query %d differs in two zones of one trial", n)
			}
			must.Require(t, !other.Answer(query, answer), "a zone of another trial answers query %d", n)
			must.Require(t, z.Answer(query, answer), "query %d is not answered", n)
			for _, c := range []struct {
				zone *Zone
				n    uint64
				id   uint16
				want Response
			}{{z, n, uint16(n), Right}, {z, n + Names, uint16(n), Right}, {z, n, uint16(n + 1), Other}, {z, n + 1, uint16(n), Other}, {other, n, uint16(n), Foreign}} {
				must.EqualFor(t, fmt.Sprintf("answer %d to query %d with id %d", n, c.n, c.id), c.want, c.zone.Check(answer, c.n, c.id))
			}
		}
	}
}

// A query in other case is answered; what is not a query of the zone is not.
func TestAnswerRefuses(t *testing.T) {
	z := zone(t, token, false)
	query, answer := make([]byte, z.QuerySize()), make([]byte, z.AnswerSize())
	z.Query(query, 3, 7)
	upper := bytes.Clone(query)
	copy(upper[13:], bytes.ToUpper(query[13:13+labelLength]))
	must.True(t, z.Answer(upper, answer), "a query in upper case is not answered")
	for name, change := range map[string]func(b []byte) []byte{
		"nothing":      func([]byte) []byte { return nil },
		"an answer":    func(b []byte) []byte { b[2] |= 0x80; return b },
		"an update":    func(b []byte) []byte { b[2] |= 5 << 3; return b },
		"no question":  func(b []byte) []byte { b[5] = 0; return b },
		"another type": func(b []byte) []byte { b[len(b)-3] = byte(dnsmessage.TypeMX); return b },
		"a foreign name": func(b []byte) []byte {
			b[13]++
			return b
		},
		"cut off": func(b []byte) []byte { return b[:len(b)-1] },
	} {
		must.True(t, !z.Answer(change(bytes.Clone(query)), answer), "%s is answered", name)
	}
}

// Go's own resolver accepts the answers.
func TestAnswerForAResolver(t *testing.T) {
	z := zone(t, token, false)
	server := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer server.Close()
	go func() {
		query, answer := make([]byte, 512), make([]byte, z.AnswerSize())
		for {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			if z.Answer(query[:n], answer) {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	found, err := r.LookupIP(t.Context(), "ip4", z.questions[4].Name.String())
	must.True(t, err == nil && len(found) == 1 && found[0].String() == "198.18.0.5", "%s: %v %v", z.questions[4].Name, found, err)
	must.True(t, strings.HasSuffix(z.questions[4].Name.String(), ".tare.test."), "the name %s is not reserved for tests", z.questions[4].Name)
}

func TestZoneAllocatesNothing(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		z := zone(t, token, ipv6)
		query, answer := make([]byte, z.QuerySize()), make([]byte, z.AnswerSize())
		n := uint64(0)
		if allocs := testing.AllocsPerRun(1000, func() {
			n++
			z.Query(query, n, uint16(n))
			must.True(t, z.Answer(query, answer) && z.Check(answer, n, uint16(n)) == Right, "not answered")
		}); allocs > 0 {
			t.Errorf("ipv6 %t: %g allocations for each exchange", ipv6, allocs)
		}
	}
}

// No message makes the server or the client panic, and only the zone's own are accepted.
func FuzzMessages(f *testing.F) {
	z := zone(f, token, true)
	query, answer := make([]byte, z.QuerySize()), make([]byte, z.AnswerSize())
	z.Query(query, 9, 9)
	z.Answer(query, answer)
	f.Add(query)
	f.Add(answer)
	f.Add([]byte{0, 9, 0x84, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0xc0, 12})
	f.Fuzz(func(t *testing.T, b []byte) {
		out := make([]byte, z.AnswerSize())
		must.True(t, !z.Answer(b, out) || z.Check(out, 0, 0) != Foreign, "%x is answered by %x, which is not of the zone", b, out)
		must.True(t, z.Check(b, 9, 9) != Right || bytes.Contains(b, z.addresses[9][:]), "%x has no address", b)
	})
}
