package agent

import (
	"net"
	"net/netip"

	"tare/internal/agent/wire"
	"tare/internal/facts/link"
)

// links replies with the network devices of this namespace.
func links(req wire.Request) wire.Reply {
	reply := wire.Reply{ID: req.ID}
	found, err := readLinks()
	if err != nil {
		return errorReply(req.ID, err)
	}
	for i := range found {
		if found[i].Addresses, err = addressesOf(found[i].Index); err != nil {
			return errorReply(req.ID, err)
		}
	}
	reply.Links = found
	if req.Address == "" {
		return reply
	}
	from, err := localToward(req.Address)
	if err != nil {
		return errorReply(req.ID, err)
	}
	reply.From = from.Unmap().String()
	if to, err := netip.ParseAddr(req.Address); err == nil {
		reply.Out, _ = link.Route(to) // unknown on other systems than Linux
	}
	return reply
}

func addressesOf(index int) ([]netip.Prefix, error) {
	addrs, err := (&net.Interface{Index: index}).Addrs()
	if err != nil {
		return nil, err
	}
	var out []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
		}
	}
	return out, nil
}
