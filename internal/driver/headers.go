package driver

// What a tunnel over IPv4 adds to a packet, in bytes with the outer IPv4 header (20) and, where there is
// one, that of UDP (8): the maximum, if padding varies.
const (
	// VXLANHeaders are also those of Geneve without options: IPv4 20, UDP 8, tunnel 8, inner Ethernet 14
	// (RFC 7348, RFC 8926).
	VXLANHeaders = 50
	// WireGuardHeaders are IPv4 20, UDP 8, its own header 16 and the tag 16. It pads to 16 bytes, but never
	// beyond the MTU (the WireGuard paper, section 5.4.6).
	WireGuardHeaders = 60
	// ESPHeaders are those of ESP in UDP in tunnel mode with AES-GCM: IPv4 20, UDP 8, ESP 8, IV 8, padding
	// up to 3, trailer 2, ICV 16 (RFC 4303, RFC 4106).
	ESPHeaders = 65
	// OverlayESPHeaders are what Docker's overlay driver reserves for ESP beside VXLAN (libnetwork,
	// drivers/overlay).
	OverlayESPHeaders = 26
)
