package initramfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// The cache of glibc's dynamic linker (glibc, sysdeps/generic/dl-cache.h): a header, entries
// and texts. An older format may stand before it, which is passed over.
const (
	cacheMagic  = "glibc-ld.so.cache1.1"
	cacheHeader = 48 // magic, number of entries at 20, length of the texts, flags, extensions
	cacheCount  = 20
	cacheEntry  = 24 // flags, offset of the name, offset of the path, unused, and kinds of CPU at 16
)

// readCache reads which paths the cache has for a library, those for any CPU alone. A
// file of another format has none.
func readCache(path string) (map[string][]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	at := bytes.Index(content, []byte(cacheMagic))
	if at < 0 {
		return nil, nil
	}
	found, err := parseCache(content[at:])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return found, nil
}

func parseCache(c []byte) (map[string][]string, error) {
	if len(c) < cacheHeader {
		return nil, errors.New("it is cut off")
	}
	n := uint64(binary.LittleEndian.Uint32(c[cacheCount:]))
	if n*cacheEntry > uint64(len(c)-cacheHeader) {
		return nil, fmt.Errorf("it is cut off: %d entries do not fit into %d bytes", n, len(c))
	}
	text := func(at uint32) (string, bool) {
		if uint64(at) >= uint64(len(c)) {
			return "", false
		}
		s, _, ends := bytes.Cut(c[at:], []byte{0})
		return string(s), ends
	}
	found := map[string][]string{}
	for e := c[cacheHeader : cacheHeader+n*cacheEntry]; len(e) > 0; e = e[cacheEntry:] {
		if binary.LittleEndian.Uint64(e[16:]) != 0 {
			continue // for CPUs that can more than a guest's may
		}
		name, ok1 := text(binary.LittleEndian.Uint32(e[4:]))
		path, ok2 := text(binary.LittleEndian.Uint32(e[8:]))
		if !ok1 || !ok2 {
			return nil, errors.New("an entry points out of it")
		}
		found[name] = append(found[name], path)
	}
	return found, nil
}
