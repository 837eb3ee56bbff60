//go:build ignore

// SPDX-License-Identifier: Apache-2.0
//
// Routes packets between the sandboxes of a host and its underlay device, past the IP
// stack of the host: one program for each direction. `make bpf` compiles this file.
//
// What is not routed between these, such as ARP and neighbour discovery, the programs leave
// to the host. They have no loop.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// What libbpf's bpf_helpers.h has of the kernel's interface: uapi/linux/bpf.h.
#define SEC(name) __attribute__((section(name), used))
#define inlined static inline __attribute__((always_inline))
#define HASH 1         // BPF_MAP_TYPE_HASH
#define PERCPU_ARRAY 6 // BPF_MAP_TYPE_PERCPU_ARRAY
static void *(*const lookup)(void *map, const void *key) = (void *)1;
static long (*const redirect_neigh)(u32 device, void *next_hop, int size, u64 flags) = (void *)152;
static long (*const redirect_peer)(u32 device, u64 flags) = (void *)155;

// The verdict that leaves a packet to whatever comes next: TC_ACT_OK, TCX_PASS and
// NETKIT_PASS have the same value.
#define PASS 0

// Network byte order, on a machine that is little-endian.
#define big16(n) __builtin_bswap16(n)

// struct __sk_buff of uapi/linux/bpf.h, up to the last field that is used.
struct packet {
	u32 length, type, mark, queue;
	u32 protocol; // in network byte order
	u32 vlan[3], priority, arrived_at, device, tc_index, scratch[5], hash, tc_class;
	u32 data, data_end;
};

// Headers: IEEE 802.3, RFC 791, RFC 8200.
struct ethernet {
	u16 to[3], from[3];
	u16 protocol;
};

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
	u32 from[4], to[4];
};

#define ETHERNET 14
#define IPV4 0x0800
#define IPV6 0x86dd
#define ICMPV6 58
#define LOCAL 255 // the hop limit of neighbour discovery (RFC 4861), which no router forwards

struct address {
	u32 word[4]; // IPv4 as IPv6 has it, ::ffff:a.b.c.d
};

struct sandbox {
	u32 number;             // its entry in tare_counts
	u32 device;             // of the host, whose peer is in the sandbox
	u32 underlay;           // of the host
	u16 inside[3], host[3]; // MAC addresses of the device and its peer
};

struct count {
	u64 packets, bytes;
};

struct counts {
	struct count out; // from the sandbox
	struct count in;  // to it
};

#define MAP(map, map_type, entries, key_type, value_type) \
	struct { \
		int (*type)[map_type]; \
		int (*max_entries)[entries]; \
		key_type *key; \
		value_type *value; \
	} map SEC(".maps")

MAP(tare_sandboxes, HASH, 512, struct address, struct sandbox);
MAP(tare_counts, PERCPU_ARRAY, 256, u32, struct counts);

enum direction { OUT, IN };

inlined struct sandbox *find(u32 a, u32 b, u32 c, u32 d)
{
	struct address key = {{a, b, c, d}};

	return lookup(&tare_sandboxes, &key);
}

// route returns the sandbox that a packet is from (OUT) or for (IN), and does for it what
// a router does: the packet has one hop less. It returns 0 for any other packet.
inlined struct sandbox *route(struct packet *p, enum direction direction)
{
	void *data = (void *)(long)p->data, *end = (void *)(long)p->data_end;
	struct sandbox *s;

	if (p->protocol == big16(IPV4)) {
		struct ipv4 *ip = data + ETHERNET;
		u32 sum;

		if ((void *)(ip + 1) > end)
			return 0;
		s = find(0, 0, 0xffff0000, direction == OUT ? ip->from : ip->to);
		if (!s || ip->ttl <= 1)
			return 0;
		ip->ttl--;
		sum = ip->checksum + big16(0x0100); // RFC 1141
		ip->checksum = sum + (sum >= 0xffff);
		return s;
	}
	if (p->protocol == big16(IPV6)) {
		struct ipv6 *ip = data + ETHERNET;
		u32 *a;

		if ((void *)(ip + 1) > end)
			return 0;
		a = direction == OUT ? ip->from : ip->to;
		s = find(a[0], a[1], a[2], a[3]);
		if (!s || ip->hops <= 1 || (ip->next == ICMPV6 && ip->hops == LOCAL))
			return 0;
		ip->hops--;
		return s;
	}
	return 0;
}

// tare_from_sandbox is attached where the packets of sandboxes arrive in the host. The kernel
// finds the next hop in the host's routes and neighbours.
SEC("tc")
int tare_from_sandbox(struct packet *p)
{
	struct sandbox *s = route(p, OUT);
	struct counts *n;

	if (!s)
		return PASS;
	n = lookup(&tare_counts, &s->number);
	if (!n)
		return PASS;
	n->out.packets++;
	n->out.bytes += p->length;
	return redirect_neigh(s->underlay, 0, 0, 0);
}

// tare_to_sandbox is attached where the packets of the underlay arrive in the host. The packet
// continues as if it had arrived at the sandbox's end of the device.
SEC("tc")
int tare_to_sandbox(struct packet *p)
{
	struct sandbox *s = route(p, IN);
	struct ethernet *frame;
	struct counts *n;

	if (!s)
		return PASS;
	n = lookup(&tare_counts, &s->number);
	frame = (void *)(long)p->data;
	if (!n || (void *)(frame + 1) > (void *)(long)p->data_end)
		return PASS;
	__builtin_memcpy(frame->to, s->inside, sizeof(frame->to));
	__builtin_memcpy(frame->from, s->host, sizeof(frame->from));
	n->in.packets++;
	n->in.bytes += p->length;
	return redirect_peer(s->device, 0);
}

char _license[] SEC("license") = "Apache-2.0";
