package firewall

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// bridgesTable is the table of an engine's nftables backend, one for each address family. Its
// chains are named after the iptables table that has such rules, as in nat-PREROUTING.
const bridgesTable = "docker-bridges"

// parseNftables parses the output of nft --json list table.
func parseNftables(text string) ([]Rule, error) {
	rules, _, err := parseRuleset(text)
	return rules, err
}

// natChain is a chain from which the kernel translates addresses.
type natChain struct {
	Table string // with its family, as in ip nat
	Name  string
	Hook  string // prerouting, postrouting, ...
}

// parseRuleset parses the output of nft --json list ruleset: the rules of all tables, and the chains at hooks for
// address translation.
func parseRuleset(text string) (rules []Rule, chains []natChain, err error) {
	var listed struct {
		Nftables []struct {
			Chain *struct{ Family, Table, Name, Type, Hook string }
			Rule  *struct {
				Family, Table, Chain, Comment string
				Handle                        uint64
				Expr                          []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &listed); err != nil {
		return nil, nil, fmt.Errorf("parse nft's list of rules: %w", err)
	}
	for _, e := range listed.Nftables {
		if c := e.Chain; c != nil && c.Type == "nat" && c.Hook != "" {
			chains = append(chains, natChain{c.Family + " " + c.Table, c.Name, c.Hook})
		}
		if e.Rule == nil {
			continue
		}
		r := Rule{Table: e.Rule.Family + " " + e.Rule.Table, Chain: e.Rule.Chain, Comment: e.Rule.Comment, Handle: e.Rule.Handle}
		r.Bare = true
		for _, raw := range e.Rule.Expr {
			var x nftExpr
			if json.Unmarshal(raw, &x) != nil {
				x = nftExpr{} // of another form, such as a counter with a name
			}
			r.Bare = r.Bare && (x.Counter != nil || x.Accept != nil)
			x.into(&r)
		}
		rules = append(rules, r)
	}
	return rules, chains, nil
}

// nftExpr is one expression of a rule, as far as verification needs it. An expression of another
// form is ignored: the rule then has fewer conditions and a caller that looks for them does not find
// it.
type nftExpr struct {
	Match *struct {
		Op   string
		Left struct {
			Payload *struct{ Protocol, Field string }
			Meta    *struct{ Key string }
		}
		Right json.RawMessage
	}
	Counter *struct{ Packets, Bytes uint64 }
	DNAT    *struct {
		Addr json.RawMessage
		Port json.RawMessage
	}
	Masquerade json.RawMessage
	Jump       *struct{ Target string }
	Accept     json.RawMessage
	Drop       json.RawMessage
}

func (x nftExpr) into(r *Rule) {
	switch {
	case x.Counter != nil:
		r.Packets, r.Bytes = x.Counter.Packets, x.Counter.Bytes
	case x.DNAT != nil:
		r.Target = "DNAT"
		var addr netip.Addr
		var port uint16
		if json.Unmarshal(x.DNAT.Addr, &addr) == nil && json.Unmarshal(x.DNAT.Port, &port) == nil {
			r.To = netip.AddrPortFrom(addr, port)
		}
	case x.Masquerade != nil:
		r.Target = "MASQUERADE"
	case x.Jump != nil:
		r.Target = x.Jump.Target
	case x.Accept != nil:
		r.Target = "ACCEPT"
	case x.Drop != nil:
		r.Target = "DROP"
	case x.Match == nil:
	case x.Match.Left.Payload != nil:
		x.payload(r, x.Match.Left.Payload.Protocol, x.Match.Left.Payload.Field)
	case x.Match.Left.Meta != nil:
		var device string
		if json.Unmarshal(x.Match.Right, &device) != nil {
			return
		}
		switch x.Match.Left.Meta.Key + x.Match.Op {
		case "oifname!=":
			r.NotOut = device
		case "iifname!=":
			r.NotIn = device
		}
	}
}

// payload reads a condition on a packet's header.
func (x nftExpr) payload(r *Rule, protocol, field string) {
	if x.Match.Op != "==" {
		return
	}
	switch field {
	case "dport":
		if json.Unmarshal(x.Match.Right, &r.Port) == nil {
			r.Proto = protocol
		}
	case "daddr":
		_ = json.Unmarshal(x.Match.Right, &r.Dest)
	case "saddr":
		var p struct {
			Prefix struct {
				Addr netip.Addr
				Len  int
			}
		}
		if json.Unmarshal(x.Match.Right, &p) == nil && p.Prefix.Addr.IsValid() {
			r.Source = netip.PrefixFrom(p.Prefix.Addr, p.Prefix.Len)
		}
	}
}
