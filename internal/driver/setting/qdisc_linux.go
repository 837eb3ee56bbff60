package setting

import (
	"fmt"
	"slices"
	"strconv"
)

// qdisc replaces the root queueing discipline of every device except bridges. That of a
// link with a limited rate is what limits it, so it is not replaced.
func (a *application) qdisc(value string) error {
	done, err := a.devices(isLink, func(w place, dev string) error {
		kind, _, err := w.ns.Tuning().Qdisc(dev)
		if err != nil {
			return err
		}
		if !slices.Contains(append(qdiscs(), "mq"), kind) {
			return a.unsupported(nameQdisc, value, "%s in %s has %s, which limits its rate; use a lab without a rate", dev, w.At, kind)
		}
		return w.ns.Tuning().SetQdisc(dev, value)
	})
	if err != nil {
		return err
	}
	a.readDevices(nameQdisc, value, isLink, func(w place, dev string) (string, error) {
		kind, _, err := w.ns.Tuning().Qdisc(dev)
		return kind, err
	})
	n := 0
	if value != "noqueue" { // which counts nothing
		n, err = a.prove(proof{counter: "qdisc_packets", transmit: true, wraps: true, pick: isLink, size: fixed(maxPacket), read: func(w place, dev string) (uint64, error) {
			_, packets, err := w.ns.Tuning().Qdisc(dev)
			return packets, err
		}})
	}
	a.fact(nameQdisc, value, done, provenBy(n, "the packets that it sent"))
	return err
}

// queueLength sets the transmit queue of every device. Only pfifo_fast and pfifo use it, as
// they are when they are set up, so it is followed by setting them again.
func (a *application) queueLength(value string) error {
	kind := a.with[nameQdisc]
	if kind != "pfifo_fast" && kind != "pfifo" {
		return a.unsupported(nameQueueLen, value, "only the queueing disciplines pfifo_fast and pfifo have that queue; add qdisc: pfifo_fast")
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	done, err := a.devices(isLink, func(w place, dev string) error {
		if err := w.ns.Tuning().SetQueueLength(dev, n); err != nil {
			return err
		}
		// One of the same kind is not replaced, but only changed.
		if err := w.ns.Tuning().SetQdisc(dev, "noqueue"); err != nil {
			return err
		}
		return w.ns.Tuning().SetQdisc(dev, kind)
	})
	if err != nil {
		return err
	}
	a.readDevices(nameQueueLen, value, isLink, func(w place, dev string) (string, error) {
		n, err := w.ns.Tuning().QueueLength(dev)
		return fmt.Sprint(n), err
	})
	a.fact(nameQueueLen, value, done, readBackOnly)
	return nil
}
