package drops

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// symbolise returns the functions that contain kernel addresses, from text in the format of
// /proc/kallsyms. There is no name if the kernel hides its addresses, which then are all 0,
// or for an address below every function.
func symbolise(kallsyms io.Reader, addresses []uint64) (map[uint64]string, error) {
	type best struct {
		at   uint64
		name string
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(addresses)))
	found := make([]best, len(sorted))
	lines := bufio.NewScanner(kallsyms)
	for lines.Scan() {
		// ADDRESS TYPE NAME [MODULE]
		address, rest, ok := strings.Cut(lines.Text(), " ")
		kind, name, ok2 := strings.Cut(rest, " ")
		at, err := strconv.ParseUint(address, 16, 64)
		if !ok || !ok2 || err != nil {
			return nil, fmt.Errorf("cannot parse symbol line %.80q", lines.Text())
		}
		if at == 0 || !strings.ContainsAny(kind, "tTwW") {
			continue
		}
		name, _, _ = strings.Cut(name, "\t")
		// An address is the return address of a call: it belongs to the last function that
		// begins below it. Only the addresses above at are affected.
		for i := len(sorted) - 1; i >= 0 && sorted[i] > at; i-- {
			if found[i].at < at {
				found[i] = best{at, name}
			}
		}
	}
	out := make(map[uint64]string, len(sorted))
	for i, f := range found {
		if f.name != "" {
			out[sorted[i]] = f.name
		}
	}
	return out, lines.Err()
}
