package unit

import "strconv"

// Count is a number with its noun: "1 trial", "3 trials".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
