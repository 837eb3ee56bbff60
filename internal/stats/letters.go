package stats

import "slices"

// MaxLetters is the maximum number of columns that [CompactLetters] returns: a to z, then A
// to Z.
const MaxLetters = 52

// CompactLetters is the compact letter display of all comparisons of n things with each
// other. differ says of i < j whether they are shown to differ. Each column of the result is
// one letter: the things that have it, in ascending order. Two things share a column if and
// only if they are not shown to differ, and each is in at least one. The columns are in the
// order of their members, so that the first thing has the first one.
//
// It is the insert-and-absorb algorithm with sweeping (Piepho, J. Comput. Graph. Stat. 13,
// 2004): it begins with one column of all; each pair that differs splits every column with
// both into two, without the one and without the other; a column within another one is
// dropped (absorbed); at the end the letters are removed from which no pair would lose its
// only common one (swept).
//
// ok is false if that takes more than [MaxLetters] columns, which things in an order with
// differences of one size never do.
func CompactLetters(n int, differ func(i, j int) bool) (columns [][]int, ok bool) {
	if n <= 0 {
		return nil, true
	}
	first := make(letter, n)
	for i := range first {
		first[i] = true
	}
	letters := []letter{first}
	// By the later one of each pair: then no more columns are needed on the way than at the end.
	for j := range n {
		for i := range j {
			if !differ(i, j) {
				continue
			}
			letters = split(letters, i, j)
		}
		if len(letters) > MaxLetters {
			return nil, false
		}
	}
	sweep(letters)
	for _, l := range letters {
		if members := l.members(); len(members) > 0 {
			columns = append(columns, members)
		}
	}
	slices.SortFunc(columns, slices.Compare)
	return columns, true
}

// letter says of each thing whether it has the letter.
type letter []bool

func (l letter) members() (out []int) {
	for i, has := range l {
		if has {
			out = append(out, i)
		}
	}
	return out
}

// within reports whether all that have a letter have the other one, too.
func (l letter) within(other letter) bool {
	for i, has := range l {
		if has && !other[i] {
			return false
		}
	}
	return true
}

// without is a copy of a letter that one of its things does not have.
func (l letter) without(i int) letter {
	out := slices.Clone(l)
	out[i] = false
	return out
}

// split inserts a pair that differs: no letter has both any longer.
func split(letters []letter, i, j int) []letter {
	var kept, parts []letter
	for _, l := range letters {
		if l[i] && l[j] {
			parts = append(parts, l.without(i), l.without(j))
		} else {
			kept = append(kept, l)
		}
	}
	// Of those kept none is within another one, nor within a part of another one.
	for n, p := range parts {
		absorbed := slices.ContainsFunc(kept, p.within)
		for m, other := range parts {
			// Of two alike the first is kept.
			absorbed = absorbed || m != n && p.within(other) && (m < n || !other.within(p))
		}
		if !absorbed {
			kept = append(kept, p)
		}
	}
	return kept
}

// sweep takes each letter from the things that do not need it: they have another letter, and
// so has each pair with this one.
func sweep(letters []letter) {
	for k, l := range letters {
		for i := range l {
			if l[i] && redundant(letters, k, i) {
				l[i] = false
			}
		}
	}
}

// redundant reports whether thing i shares another letter with each that has letter k,
// itself included.
func redundant(letters []letter, k, i int) bool {
	for j, has := range letters[k] {
		if !has {
			continue
		}
		if !slices.ContainsFunc(letters, func(l letter) bool { return &l[0] != &letters[k][0] && l[i] && l[j] }) {
			return false
		}
	}
	return true
}
