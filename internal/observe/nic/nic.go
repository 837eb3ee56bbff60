// Package nic reads what network cards count themselves, as `ethtool -S` shows it, and
// classifies it: packets for which a card had no buffer, damaged ones, those that it did
// not send, and pause frames. Every driver has its own names for these.
//
// One drop often increments several statistics: one for each queue, their sum, and that of
// the port. So statistics are kept by family, which is a name without numbers of queues, and
// of several families of one class only the largest counts.
package nic

import (
	"maps"
	"slices"
	"strings"

	"tare/internal/linuxnet/here"
	"tare/internal/observe/netstack"
)

// Class is what a statistic counts.
type Class string

// The classes.
const (
	NoBuffer  Class = "no_buffer" // received packets that were dropped because a ring or a queue was full
	Damaged   Class = "damaged"   // received packets with a wrong checksum or length
	Unsent    Class = "unsent"    // packets that the card or its driver dropped instead of sending
	Throttled Class = "throttled" // packets over the allowance of a virtual machine, queued or dropped
	PausedRx  Class = "paused_rx" // pause frames received: the other side stopped this one
	PausedTx  Class = "paused_tx" // pause frames sent: this side stopped the other
)

// prefix starts the name of a counter: "nic/eth0.no_buffer.rx_out_of_buffer".
const prefix = "nic/"

// Read adds the statistics of devices of the calling thread's network namespace to a
// reading. A device whose driver keeps none adds nothing.
func Read(r *netstack.Reading, devices []string) {
	for _, device := range devices {
		stats, err := here.DriverStats(device)
		r.AddGap("statistics of the network card "+device, err)
		Add(r, device, stats)
	}
}

// Add adds the classified ones of a driver's statistics to a reading.
func Add(r *netstack.Reading, device string, stats map[string]uint64) {
	for name, n := range stats {
		if class, family, ok := Classify(name); ok {
			counter := prefix + device + "." + string(class) + "." + family
			r.Set(counter, r.Counters[counter]+n)
		}
	}
}

// Classify returns the class and the family of a statistic by its name; ok is false for one
// that counts something else.
func Classify(name string) (class Class, family string, ok bool) {
	family = withoutNumbers(strings.ToLower(strings.TrimSpace(name)))
	key := family
	for _, cut := range []string{"[#]: ", "port.", "mac.", "rxq#: ", "txq#: "} {
		key = strings.TrimPrefix(key, cut)
	}
	for _, cut := range []string{"[#]", ".nic", "_phy"} {
		key = strings.TrimSuffix(key, cut)
	}
	for class, names := range statistics() {
		if slices.Contains(names, key) {
			return class, strings.ReplaceAll(family, ".", "_"), true
		}
	}
	return "", "", false
}

// withoutNumbers replaces each number by a #.
func withoutNumbers(s string) string {
	var out strings.Builder
	digits := false
	for _, r := range s {
		if r >= '0' && r <= '9' {
			if !digits {
				out.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		out.WriteRune(r)
	}
	return out.String()
}

// Card is what a network card counted between two readings.
type Card struct {
	Device string
	counts map[Class]count
}

type count struct {
	family string
	n      uint64
}

// Count returns how much the largest family of a class grew, and its name; known is false
// if the card has no statistic of the class.
func (c Card) Count(class Class) (n uint64, family string, known bool) {
	found, known := c.counts[class]
	return found.n, found.family, known
}

// Cards lists the network cards of which counters are known, by name.
func Cards(d netstack.Deltas) []Card {
	cards := map[string]Card{}
	for _, name := range slices.Sorted(maps.Keys(d.Counters)) {
		device, class, family, ok := parse(name)
		if !ok {
			continue
		}
		c, there := cards[device]
		if !there {
			c = Card{device, map[Class]count{}}
			cards[device] = c
		}
		if n, was := d.Counters[name], c.counts[class]; was.family == "" || n > was.n {
			c.counts[class] = count{family, n}
		}
	}
	var out []Card
	for _, device := range slices.Sorted(maps.Keys(cards)) {
		out = append(out, cards[device])
	}
	return out
}

// parse splits the name of a counter. A device's name may contain dots, a family none.
func parse(counter string) (device string, class Class, family string, ok bool) {
	rest, ok := strings.CutPrefix(counter, prefix)
	last := strings.LastIndexByte(rest, '.')
	if !ok || last < 0 {
		return "", "", "", false
	}
	rest, family = rest[:last], rest[last+1:]
	if last = strings.LastIndexByte(rest, '.'); last < 0 {
		return "", "", "", false
	}
	return rest[:last], Class(rest[last+1:]), family, true
}
