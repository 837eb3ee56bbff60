package store

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"tare/internal/result"
)

// IndexFile keeps, in a directory with many runs, what a list and a history need of each,
// so that they do not read every run.json. It can be removed at any time. The directories
// of the runs decide: a run is read again if its files are not in the state in which the
// index read them, and an index that is broken, or not a private file of this user, is
// ignored.
const IndexFile = ".tare-index"

// The limits of an index. They are above what 10 000 runs of the standard profile need;
// runs that do not fit are read each time.
const (
	// leastIndexed is the number of runs from which on an index is written. Fewer are read
	// in a fraction of a second.
	leastIndexed = 32
	// mostIndexed is the number of runs in an index, and mostTable that of its texts, of its
	// series, and of the modes in its summaries.
	mostIndexed = 50_000
	mostTable   = 1 << 20
	// maxBlock is the maximum size of one run, in bytes, maxBlocks that of all, and maxTable
	// those of the texts and of the summaries.
	maxBlock  = 256 << 10
	maxBlocks = 64 << 20
	maxTable  = 8 << 20
	// maxIndexedRun is how many bytes the values of a run in an index take in memory.
	maxIndexedRun = 2 << 20
	// settling is how long ago a file must have changed to be in the index: some file
	// systems count whole seconds, so that a later change may not show.
	settling = 2 * time.Second
	// abandoned is the age of an unfinished index whose process is dead.
	abandoned = 10 * time.Minute
)

// indexMagic begins an index. It changes with the content of a block or the directory,
// also when [comparable] takes more of a run.
const indexMagic = "tare-index/1\n\x00\x00\x00"

// headerSize is the size of what precedes the blocks: the magic, the offset, the length
// and the CRC of the directory.
const headerSize = len(indexMagic) + 8 + 8 + 4

// indexOptions are what tests change of an index.
type indexOptions struct {
	least   int
	settled time.Time // when a file must have changed last
}

func wholeIndex() indexOptions {
	return indexOptions{least: leastIndexed, settled: time.Now().Add(-settling)}
}

// fingerprint stands for the state of the files that a [Record] is read from: size, inode,
// times of modification and change.
type fingerprint [16]byte

// inspect tells whether a directory is a run's. The fingerprint is empty if a file is not
// a regular one or changed just now.
func (o indexOptions) inspect(dir string) (print fingerprint, isRun bool) {
	var state []byte
	plain := true
	for i, name := range [...]string{RunFile, TrialsFile, SessionsFile, StudyFile} {
		if i == 2 && !isRun && plain {
			return fingerprint{}, false
		}
		info, err := os.Lstat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			state = append(state, 0)
			continue
		case err != nil || !info.Mode().IsRegular():
			plain = false
			continue
		}
		inode, changed := stateOf(info)
		if changed.After(o.settled) || info.ModTime().After(o.settled) {
			plain = false
		}
		isRun = isRun || i < 2
		state = append(state, 1)
		for _, n := range []uint64{inode, uint64(info.Size()), uint64(info.ModTime().UnixNano()), uint64(changed.UnixNano())} {
			state = binary.LittleEndian.AppendUint64(state, n)
		}
	}
	if !isRun {
		d, err := Open(dir) // which follows links within it
		if err != nil {
			return fingerprint{}, false
		}
		return fingerprint{}, d.Close() == nil
	}
	if plain {
		sum := sha256.Sum256(state)
		print = fingerprint(sum[:])
	}
	return print, true
}

// index is an open index: what was read of its file, and what has been added since.
type index struct {
	options indexOptions
	root    *os.Root // nil if the directory cannot be opened
	uid     int      // of the user of the file, if users are known
	private bool     // whether this user may have an index here
	file    *os.File // nil if there is none
	content indexContent
	byPath  map[string]*entry
	used    int // entries that a listing found
	added   int
	memory  int // that the added blocks take
}

// indexContent is what an index contains. Blocks are written with the texts and the series
// of the table, which only grows: see [index.rebuild].
type indexContent struct {
	table   *table
	dropped int // entries that were removed since the table was made
	entries []*entry
}

// entry is a run in an index. Its block is in the file, or in memory if it was added.
type entry struct {
	rel     string
	print   fingerprint
	summary Summary // without its path
	offset  int64
	size    int
	sum     uint32
	block   []byte
}

// openIndex opens the index of a directory. It is empty if there is none that can be used.
func openIndex(dir string, o indexOptions) *index {
	x := &index{options: o, byPath: map[string]*entry{}, content: indexContent{table: &table{}}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return x
	}
	x.root = root
	x.uid = os.Geteuid()
	if to := ownerIn(root); to.set {
		x.uid = to.uid
	}
	info, err := root.Stat(".")
	uid, known := userOf(info)
	x.private = err == nil && (!known || uid == x.uid)
	if !x.private {
		return x
	}
	if err := x.read(); err != nil {
		x.forget()
	}
	for _, e := range x.content.entries {
		x.byPath[e.rel] = e
	}
	return x
}

// forget makes the index empty.
func (x *index) forget() {
	if x.file != nil {
		_ = x.file.Close() // it was only read
	}
	x.file, x.content = nil, indexContent{table: &table{}}
}

func (x *index) close() {
	x.forget()
	if x.root != nil {
		_ = x.root.Close() // nothing was written to it
		x.root = nil
	}
}

// errIndex means that an index cannot be used.
var errIndex = errors.New("not an index of this version and user")

// read reads the directory of the index: not its blocks.
func (x *index) read() error {
	named, err := x.root.Lstat(IndexFile)
	if err != nil {
		return err
	}
	uid, known := userOf(named)
	if !named.Mode().IsRegular() || known && (uid != x.uid || named.Mode().Perm()&0o022 != 0) {
		return errIndex
	}
	if x.file, err = x.root.OpenFile(IndexFile, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return err
	}
	info, err := x.file.Stat()
	if err != nil || !os.SameFile(info, named) {
		return errIndex
	}
	header := make([]byte, headerSize)
	if _, err := x.file.ReadAt(header, 0); err != nil {
		return err
	}
	if string(header[:len(indexMagic)]) != indexMagic {
		return errIndex
	}
	at := header[len(indexMagic):]
	offset, length := binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:])
	if offset < uint64(headerSize) || offset > uint64(headerSize+maxBlocks) || length > 2*maxTable || offset+length != uint64(info.Size()) {
		return errIndex
	}
	directory := make([]byte, length)
	if _, err := x.file.ReadAt(directory, int64(offset)); err != nil {
		return err
	}
	if crc32.ChecksumIEEE(directory) != binary.LittleEndian.Uint32(at[16:]) {
		return errIndex
	}
	x.content, err = decodeDirectory(directory, int64(offset))
	return err
}

// lookup returns the entry of a run, nil if there is none in this state.
func (x *index) lookup(f found) *entry {
	e := x.byPath[f.rel]
	if e == nil || f.print == (fingerprint{}) || e.print != f.print {
		return nil
	}
	x.used++
	return e
}

// run reads the block of an entry.
func (x *index) run(e *entry) (result.Run, error) {
	block, err := x.blockOf(e)
	if err != nil {
		return result.Run{}, err
	}
	run, err := decodeRun(block, x.content.table)
	if err != nil {
		return result.Run{}, err
	}
	run.ID, run.Started, run.Status, run.Profile = e.summary.ID, e.summary.Started, e.summary.Status, e.summary.Profile
	return run, nil
}

func (x *index) blockOf(e *entry) ([]byte, error) {
	if e.block != nil {
		return e.block, nil
	}
	block := make([]byte, e.size)
	if _, err := x.file.ReadAt(block, e.offset); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(block) != e.sum {
		return nil, errIndex
	}
	return block, nil
}

// add adds a run that was read. It returns nil if the run does not fit.
func (x *index) add(f found, r Record) *entry {
	// The memory first, because the texts of a run that does not fit would remain in the table.
	if x.memory > maxBlocks || x.content.table.full() || memory(reflect.ValueOf(&r.Run).Elem()) > maxIndexedRun {
		return nil
	}
	block := encodeRun(r.Run, x.content.table)
	if len(block) > maxBlock {
		return nil
	}
	if f.print != (fingerprint{}) {
		x.added++
	}
	x.memory += len(block)
	e := &entry{rel: f.rel, print: f.print, summary: r.Summary, size: len(block), sum: crc32.ChecksumIEEE(block), block: block}
	e.summary.Path = ""
	return e
}

// save replaces the file if its runs are not those of a listing. That it cannot be written
// is no error: the next listing takes longer.
func (x *index) save(runs []*listed) {
	if x.root == nil || !x.private || x.added == 0 && x.used == len(x.content.entries) {
		return
	}
	x.sweep()
	dropped := x.content.dropped + len(x.content.entries) - x.used
	x.content.entries = fitting(runs)
	if len(x.content.entries) < x.options.least {
		_ = x.root.Remove(IndexFile) // usually there is none
		return
	}
	x.content.dropped = dropped
	if dropped > len(x.content.entries)/2 {
		if err := x.rebuild(runs); err != nil {
			x.discard()
			return
		}
	}
	if err := x.replace(); errors.Is(err, errIndex) {
		x.discard()
	}
}

// discard removes the file, of which a block is broken: the next listing recreates it.
func (x *index) discard() { _ = x.root.Remove(IndexFile) }

// fitting are the entries that an index can have, of the newest runs first.
func fitting(runs []*listed) []*entry {
	var out []*entry
	blocks, heads, modes := 0, 0, 0
	for _, r := range runs {
		e := r.entry
		if e == nil || e.print == (fingerprint{}) {
			continue
		}
		blocks += e.size
		heads += len(e.rel) + len(e.summary.ID) + headMemory + 3*len(e.summary.Modes)
		modes += len(e.summary.Modes)
		if len(out) == mostIndexed || blocks > maxBlocks || heads > maxTable || modes > mostTable {
			break
		}
		out = append(out, e)
	}
	return out
}

// headMemory is at most how many bytes a summary takes in a directory, besides its path, id
// and modes.
const headMemory = 80

// rebuild writes the blocks of all runs with a new table, without what only entries that
// were removed have in it.
func (x *index) rebuild(runs []*listed) error {
	made := &table{}
	blocks := make([][]byte, len(runs))
	for i, r := range runs {
		if r.entry == nil {
			continue
		}
		block, err := x.blockOf(r.entry)
		if err != nil {
			return err
		}
		run, err := decodeRun(block, x.content.table)
		if err != nil {
			return err
		}
		blocks[i] = encodeRun(run, made)
	}
	for i, r := range runs {
		if e := r.entry; e != nil {
			e.block, e.size, e.sum = blocks[i], len(blocks[i]), crc32.ChecksumIEEE(blocks[i])
		}
	}
	x.content.table, x.content.dropped = made, 0
	return nil
}

// replace writes the file and renames it, so that a reader sees the old or the new one,
// whoever writes at once. It is not flushed: a broken one is not used.
func (x *index) replace() error {
	temp := fmt.Sprintf("%s.%08x.tmp", IndexFile, rand.Uint32())
	f, err := x.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	ownerIn(x.root).giveFile(f)
	err = x.write(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = x.root.Rename(temp, IndexFile)
	}
	if err != nil {
		return errors.Join(err, x.root.Remove(temp))
	}
	return nil
}

func (x *index) write(f *os.File) error {
	if _, err := f.Seek(int64(headerSize), io.SeekStart); err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	offset := headerSize
	for _, e := range x.content.entries {
		block, err := x.blockOf(e)
		if err != nil {
			return err
		}
		if _, err := w.Write(block); err != nil {
			return err
		}
		offset += len(block)
	}
	directory := encodeDirectory(x.content)
	if len(directory) > 2*maxTable {
		return errTooLarge
	}
	if _, err := w.Write(directory); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	header := append([]byte(indexMagic), make([]byte, headerSize-len(indexMagic))...)
	at := header[len(indexMagic):]
	binary.LittleEndian.PutUint64(at, uint64(offset))
	binary.LittleEndian.PutUint64(at[8:], uint64(len(directory)))
	binary.LittleEndian.PutUint32(at[16:], crc32.ChecksumIEEE(directory))
	_, err := f.WriteAt(header, 0)
	return err
}

// sweep removes what processes left that were killed while they wrote an index.
func (x *index) sweep() {
	top, err := x.root.Open(".")
	if err != nil {
		return
	}
	defer top.Close()
	for {
		names, err := top.Readdirnames(1000)
		for _, name := range names {
			if !strings.HasPrefix(name, IndexFile+".") || !strings.HasSuffix(name, ".tmp") {
				continue
			}
			info, err := x.root.Lstat(name)
			if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < abandoned {
				continue
			}
			if uid, known := userOf(info); !known || uid == x.uid {
				_ = x.root.Remove(name) // another process may have removed it
			}
		}
		if err != nil {
			return
		}
	}
}
