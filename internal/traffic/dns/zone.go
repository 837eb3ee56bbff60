// Package dns has the messages of the workloads over DNS: a generated zone, its queries and its
// answers. Building the zone allocates; queries and answers do not.
package dns

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"

	"golang.org/x/net/dns/dnsmessage"
)

// Names is the number of names in a zone.
const Names = 1000

// The first label of each name is random letters from a fixed seed, so that all trials of all runs
// ask for the same ones.
const (
	namesSeed   = 1035
	labelLength = 8
)

// ttl is that of all records, in seconds.
const ttl = 60

// Zone is the names of one trial, with one record each: A, or AAAA for IPv6. All names have the
// same length, and so have all queries and all answers.
//
// The second label of each name is derived from the trial's token: only the endpoints of the trial
// know it, and a query without it is not answered.
type Zone struct {
	questions []dnsmessage.Question
	addresses [][16]byte // an IPv4 address takes 4 bytes
	queries   [][]byte   // with ID 0
	answers   map[dnsmessage.Question][]byte
	address   int // bytes of an address
}

// NewZone returns the zone of the trial with that token.
func NewZone(token string, ipv6 bool) (*Zone, error) {
	z := &Zone{answers: make(map[dnsmessage.Question][]byte, Names), address: 4}
	kind := dnsmessage.TypeA
	if ipv6 {
		kind, z.address = dnsmessage.TypeAAAA, 16
	}
	sum := sha256.Sum256([]byte("names of " + token))
	parent := "." + hex.EncodeToString(sum[:8]) + ".tare.test."
	rng := rand.New(rand.NewPCG(namesSeed, 1))
	for len(z.questions) < Names {
		label := make([]byte, labelLength)
		for i := range label {
			label[i] = 'a' + byte(rng.IntN(26))
		}
		name, err := dnsmessage.NewName(string(label) + parent)
		if err != nil {
			return nil, fmt.Errorf("generate the zone: %w", err)
		}
		q := dnsmessage.Question{Name: name, Type: kind, Class: dnsmessage.ClassINET}
		if z.answers[q] != nil {
			continue // drawn before
		}
		if err := z.add(q); err != nil {
			return nil, fmt.Errorf("generate the zone: %w", err)
		}
	}
	return z, nil
}

// add adds a name with the next address of the networks for benchmarks, 198.18.0.0/15 and
// 2001:2::/48 (RFC 2544, RFC 5180).
func (z *Zone) add(q dnsmessage.Question) error {
	n := uint16(len(z.questions) + 1)
	header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: ttl}
	answer := dnsmessage.Resource{Header: header}
	var address [16]byte
	if q.Type == dnsmessage.TypeA {
		a := [4]byte{198, 18}
		binary.BigEndian.PutUint16(a[2:], n)
		copy(address[:], a[:])
		answer.Body = &dnsmessage.AResource{A: a}
	} else {
		address = [16]byte{0x20, 0x01, 0, 0x02}
		binary.BigEndian.PutUint16(address[14:], n)
		answer.Body = &dnsmessage.AAAAResource{AAAA: address}
	}
	asked := dnsmessage.Message{Header: dnsmessage.Header{RecursionDesired: true}, Questions: []dnsmessage.Question{q}}
	query, err := asked.Pack()
	if err != nil {
		return err
	}
	asked.Response, asked.Authoritative, asked.Answers = true, true, []dnsmessage.Resource{answer}
	response, err := asked.Pack()
	if err != nil {
		return err
	}
	z.questions, z.addresses = append(z.questions, q), append(z.addresses, address)
	z.queries, z.answers[q] = append(z.queries, query), response
	return nil
}

// QuerySize is the size of each query in bytes.
func (z *Zone) QuerySize() int { return len(z.queries[0]) }

// AnswerSize is the size of each answer in bytes.
func (z *Zone) AnswerSize() int { return len(z.answers[z.questions[0]]) }

// Query writes the query for the n-th name into b, which has QuerySize bytes. After the last name
// the first one follows.
func (z *Zone) Query(b []byte, n uint64, id uint16) {
	copy(b, z.queries[n%Names])
	binary.BigEndian.PutUint16(b, id)
}

// Answer writes the answer to a query into b, which has AnswerSize bytes. ok is false if it is not a
// query for a name of the zone.
func (z *Zone) Answer(query, b []byte) (ok bool) {
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil || h.Response || h.OpCode != 0 {
		return false
	}
	q, err := p.Question()
	if err != nil {
		return false
	}
	lower(&q.Name)
	answer := z.answers[q]
	if answer == nil {
		return false
	}
	copy(b, answer)
	binary.BigEndian.PutUint16(b, h.ID)
	return true
}

// lower makes a name lower case: names are compared without regard to case (RFC 4343).
func lower(n *dnsmessage.Name) {
	for i, c := range n.Data[:n.Length] {
		if c >= 'A' && c <= 'Z' {
			n.Data[i] = c + 'a' - 'A'
		}
	}
}

// Response is what an answer is to the query of a flow.
type Response int

// The kinds of responses: the right answer; an answer of the zone to another query, which is late or
// a duplicate; anything else.
const (
	Foreign Response = iota
	Other
	Right
)

// Check compares an answer with the query for the n-th name with that id.
func (z *Zone) Check(answer []byte, n uint64, id uint16) Response {
	var p dnsmessage.Parser
	h, err := p.Start(answer)
	if err != nil || !h.Response || h.RCode != dnsmessage.RCodeSuccess || h.Truncated {
		return Foreign
	}
	q, err := p.Question()
	if err != nil {
		return Foreign
	}
	lower(&q.Name)
	if n %= Names; h.ID != id || q != z.questions[n] {
		if z.answers[q] != nil {
			return Other
		}
		return Foreign
	}
	if p.SkipAllQuestions() != nil || !z.hasAddress(&p, n) {
		return Foreign
	}
	return Right
}

// hasAddress reports whether the next record of an answer has the address of the n-th name.
func (z *Zone) hasAddress(p *dnsmessage.Parser, n uint64) bool {
	h, err := p.AnswerHeader()
	if err != nil || h.Type != z.questions[n].Type {
		return false
	}
	if z.address == 4 {
		r, err := p.AResource()
		return err == nil && r.A == [4]byte(z.addresses[n][:4])
	}
	r, err := p.AAAAResource()
	return err == nil && r.AAAA == z.addresses[n]
}
