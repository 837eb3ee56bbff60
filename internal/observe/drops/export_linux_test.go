package drops

// Peek returns how many datagrams a session has counted so far, of all flows.
func (s *Session) Peek() (int64, error) {
	var k dropsKey
	var n uint64
	var sum int64
	all := s.watcher.objects.TareCounts.Iterate()
	for all.Next(&k, &n) {
		sum += int64(n)
	}
	return sum, all.Err()
}
