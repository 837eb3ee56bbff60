// Package hostile has only tests: trials beside a neighbour on the same bridge that floods, holds
// connections, replays what it has seen, and sends packets with the client's address.
package hostile
