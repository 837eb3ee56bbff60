package nic

// Statistics is the table.
func Statistics() map[Class][]string { return statistics() }
