package stacks

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// symbols are the functions of a kernel by address, including modules and eBPF programs.
type symbols struct {
	addresses []uint64
	names     []string
}

// readSymbols parses /proc/kallsyms (proc(5)): an address, a type and a name on each line,
// followed by the module in brackets. It fails if there are no functions, or if all
// addresses are 0, as with kernel.kptr_restrict.
func readSymbols(r io.Reader) (*symbols, error) {
	type symbol struct {
		at   uint64
		name string
	}
	var all []symbol
	hidden := 0
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := bytes.Fields(lines.Bytes())
		if len(fields) < 3 || !strings.ContainsAny(string(fields[1]), "tTwW") {
			continue
		}
		at, err := strconv.ParseUint(string(fields[0]), 16, 64)
		switch {
		case err != nil:
			return nil, fmt.Errorf("address in %q: %w", lines.Text(), err)
		case at == 0:
			hidden++
			continue
		}
		all = append(all, symbol{at, plainName(string(fields[2]))})
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, err
	case len(all) == 0 && hidden > 0:
		return nil, errors.New("the kernel hides function addresses; set kernel.kptr_restrict to 0, or to 1 with the capability CAP_SYSLOG")
	case len(all) == 0:
		return nil, errors.New("it lists no functions")
	}
	slices.SortStableFunc(all, func(a, b symbol) int { return cmp.Compare(a.at, b.at) })
	s := &symbols{addresses: make([]uint64, 0, len(all)), names: make([]string, 0, len(all))}
	for i, sym := range all {
		if i > 0 && sym.at == all[i-1].at {
			continue // an alias of the same address; the first name is kept
		}
		s.addresses, s.names = append(s.addresses, sym.at), append(s.names, sym.name)
	}
	return s, nil
}

// plainName removes suffixes that compilers append: .isra.0, .cold, .constprop.0.
func plainName(name string) string {
	plain, _, _ := strings.Cut(name, ".")
	return cmp.Or(plain, name)
}

// longest is more than the size of any function. An address farther from the previous name
// is in code that the list lacks.
const longest = 1 << 20

// at returns the function that contains an address, or false if it is not listed.
func (s *symbols) at(address uint64) (string, bool) {
	i, exact := slices.BinarySearch(s.addresses, address)
	if !exact {
		i--
	}
	if i < 0 || address-s.addresses[i] > longest {
		return "", false
	}
	return s.names[i], true
}
