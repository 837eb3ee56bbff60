package drops

// Peek is how many datagrams a session has counted so far, of all flows.
func (s *Session) Peek() (int64, error) {
	var k key
	var n uint64
	var sum int64
	all := s.watcher.counts.Iterate()
	for all.Next(&k, &n) {
		sum += int64(n)
	}
	return sum, all.Err()
}
