//go:build ignore

// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
//
// Counts dropped packets by flow, reason and function. `make bpf` compiles this file.
// The kernel lets only programs under its own licence read its memory, hence the last
// of these licences.
//
// The program has no loop. It reads the packet only by bpf_probe_read_kernel, which
// fails where no memory is.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef _Bool bool;

// What libbpf's bpf_helpers.h has of the kernel's interface: uapi/linux/bpf.h.
#define SEC(name) __attribute__((section(name), used))
#define inlined static inline __attribute__((always_inline))
#define HASH 1 // BPF_MAP_TYPE_HASH
#define NOEXIST 1
static void *(*const lookup)(void *map, const void *key) = (void *)1;
static long (*const update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const probe_read)(void *to, u32 size, const void *from) = (void *)113;

// Network byte order, on a machine that is little-endian.
#define big16(n) __builtin_bswap16(n)

// The fields that are read of the kernel's structures. Where the running kernel has
// them, and how wide they are, is filled in when the program is loaded (CO-RE).
struct sk_buff {
	u8 *head;           // the packet's buffer
	u32 end;            // where skb_shared_info begins in it
	u16 network_header; // where the IP header begins in it
} __attribute__((preserve_access_index));

struct skb_shared_info {
	u16 gso_size;
	u16 gso_segs;
} __attribute__((preserve_access_index));

// get reads a field into a u64 and says whether there was memory.
#define BYTE_SIZE 1 // BPF_FIELD_BYTE_SIZE
#define get(to, from, field) \
	(!probe_read(&(to), __builtin_preserve_field_info((from)->field, BYTE_SIZE), &(from)->field))

// The arguments of skb:kfree_skb. The caller of New has seen that they are these.
struct arguments {
	const struct sk_buff *packet;
	u64 location;
	u64 reason; // an enum
};

// What a port of a protocol stands for, and an address with a port.
enum owner {
	shared,     // several flows: the one whose turn it is
	tunnel,     // VXLAN: what counts is inside
	by_end,     // only the addresses that are in the map of ends
	first_flow, // this and all above it: a flow's number
	nobody = ~0U,
};

struct end {
	u8 address[16]; // IPv4 as IPv6 has it
	u32 port;       // and the protocol in the upper half
};

struct key {
	u64 location;
	u32 reason;
	enum owner flow;
};

#define MAP(map, entries, key_type, value_type) \
	struct { \
		int (*type)[HASH]; \
		int (*max_entries)[entries]; \
		key_type *key; \
		value_type *value; \
	} map SEC(".maps")

MAP(tare_ports, 1024, u32, enum owner);
MAP(tare_ends, 1024, struct end, enum owner);
MAP(tare_counts, 4096, struct key, u64); // datagrams

enum owner turn; // of what is shared
u64 lost; // datagrams that found no room in tare_counts

// Headers: RFC 791, RFC 8200, RFC 7348 section 5.
struct ipv4 {
	u8 version_length, service;
	u16 length, id, fragment;
	u8 ttl, protocol;
	u16 checksum;
	u32 from, to;
};

struct ipv6 {
	u32 version;
	u16 length;
	u8 next, hops;
	u8 from[16], to[16];
};

struct fragment {
	u8 next, reserved;
	u16 offset;
	u32 id;
};

#define TCP 6
#define UDP 17
#define FRAGMENT 44
#define VXLAN (8 + 8 + 14) // UDP, VXLAN, the inner Ethernet header

// mapped writes an IPv4 address as IPv6 has it, ::ffff:a.b.c.d.
inlined void mapped(struct end *e, u32 address)
{
	__builtin_memset(e->address, 0, 10);
	__builtin_memset(e->address + 10, 0xff, 2);
	__builtin_memcpy(e->address + 12, &address, 4);
}

// known returns what an end whose port stands for port stands for itself.
inlined enum owner known(const struct end *e, enum owner port)
{
	enum owner *owner = lookup(&tare_ends, e);

	if (owner)
		return *owner;
	return port == by_end ? nobody : port;
}

// find returns whose the IP packet at *at is. With tunnel, *at is the packet inside.
inlined enum owner find(const u8 **at)
{
	union {
		struct ipv4 v4;
		struct ipv6 v6;
	} ip;
	struct end from, to;
	struct {
		u16 from, to;
	} ports;
	enum owner *port;
	u32 protocol;

	if (probe_read(&ip, sizeof(ip), *at))
		return nobody;
	switch (ip.v4.version_length >> 4) {
	case 4:
		if (ip.v4.fragment & big16(0x1fff))
			return nobody; // not the first: no ports
		protocol = ip.v4.protocol;
		mapped(&from, ip.v4.from);
		mapped(&to, ip.v4.to);
		*at += (ip.v4.version_length & 15) * 4;
		break;
	case 6:
		protocol = ip.v6.next;
		__builtin_memcpy(from.address, ip.v6.from, 16);
		__builtin_memcpy(to.address, ip.v6.to, 16);
		*at += sizeof(ip.v6);
		if (protocol == FRAGMENT) {
			struct fragment f;

			if (probe_read(&f, sizeof(f), *at) || f.offset & big16(0xfff8))
				return nobody;
			protocol = f.next;
			*at += sizeof(f);
		}
		break;
	default:
		return nobody;
	}
	if (protocol != UDP && protocol != TCP)
		return nobody;
	if (probe_read(&ports, sizeof(ports), *at))
		return nobody;
	from.port = protocol << 16 | big16(ports.from);
	to.port = protocol << 16 | big16(ports.to);

	port = lookup(&tare_ports, &to.port);
	if (port) {
		enum owner owner = *port;

		if (owner == tunnel) {
			*at += VXLAN;
			return tunnel;
		}
		owner = known(&to, owner);
		if (owner != nobody)
			return owner;
	}
	port = lookup(&tare_ports, &from.port);
	if (port && *port != tunnel) // a tunnel's packets are bound for its port
		return known(&from, *port);
	return nobody;
}

// datagrams returns how many a packet stands for, and 0 if its memory cannot be read.
inlined u64 datagrams(const struct sk_buff *packet, const u8 *head)
{
	u64 end = 0, size = 0, segments = 0;
	const struct skb_shared_info *info;

	if (!get(end, packet, end))
		return 0;
	info = (const void *)(head + end);
	if (!get(size, info, gso_size) || !get(segments, info, gso_segs))
		return 0;
	return size && segments ? segments : 1;
}

SEC("raw_tracepoint/kfree_skb")
int tare_drops(struct arguments *a)
{
	const struct sk_buff *packet = a->packet;
	struct key key = {.location = a->location, .reason = a->reason};
	u64 head = 0, network = 0, n, *count;
	const u8 *at;

	if (key.reason <= 1) // the last of the reasons that are none: SKB_CONSUMED
		return 0;
	if (!get(head, packet, head) || !get(network, packet, network_header))
		return 0;
	at = (const u8 *)head + network;
	key.flow = find(&at);
	if (key.flow == tunnel)
		key.flow = find(&at);
	if (key.flow == tunnel || key.flow == nobody)
		return 0;
	if (key.flow == shared)
		key.flow = turn;
	n = datagrams(packet, (const u8 *)head);
	if (!n)
		return 0;
	count = lookup(&tare_counts, &key);
	if (!count) {
		if (!update(&tare_counts, &key, &n, NOEXIST))
			return 0;
		count = lookup(&tare_counts, &key); // another CPU was faster, or there is no room
	}
	__sync_fetch_and_add(count ? count : &lost, n);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
