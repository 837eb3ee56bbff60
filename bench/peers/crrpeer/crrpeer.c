/*
 * crrpeer: connect, exchange one byte, close, over and over: what tare's tcp_crr
 * is held against. One thread at each end. One flow is driven by blocking calls,
 * several by epoll.
 *
 *   crrpeer serve ADDRESS PORT FLOWS
 *   crrpeer dial  ADDRESS PORT FLOWS SECONDS fin|rst
 *
 * The client closes first, with a FIN or, after SO_LINGER 0, with a RST. Its
 * output is "connections=N seconds=S". The server ends when it is told to.
 */
#define _GNU_SOURCE /* accept4 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 1024, EVENTS = 128, CLOCK_EVERY = 16 };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static struct sockaddr_in address(const char *host, const char *port)
{
	struct sockaddr_in a;
	memset(&a, 0, sizeof a);
	a.sin_family = AF_INET;
	a.sin_port = htons(atoi(port));
	if (inet_pton(AF_INET, host, &a.sin_addr) != 1) {
		fprintf(stderr, "no IPv4 address: %s\n", host);
		exit(2);
	}
	return a;
}

static void watch(int ep, int op, int fd, unsigned events)
{
	struct epoll_event e;
	e.events = events;
	e.data.fd = fd;
	if (epoll_ctl(ep, op, fd, &e) < 0)
		fail("epoll_ctl");
}

static void serve_one(int lfd)
{
	char b[16];
	for (;;) {
		int fd = accept4(lfd, NULL, NULL, 0);
		ssize_t n;
		if (fd < 0)
			continue;
		while ((n = recv(fd, b, sizeof b, 0)) > 0)
			send(fd, b, n, MSG_NOSIGNAL);
		close(fd);
	}
}

static void answer(int fd)
{
	char b[16];
	ssize_t n = recv(fd, b, sizeof b, MSG_DONTWAIT);
	if (n > 0) {
		send(fd, b, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		return;
	}
	if (n < 0 && errno == EAGAIN)
		return;
	close(fd); /* a FIN or a RST: both end it, and epoll forgets it */
}

static void serve_many(int lfd)
{
	struct epoll_event events[EVENTS];
	int ep = epoll_create1(0);
	watch(ep, EPOLL_CTL_ADD, lfd, EPOLLIN);
	for (;;) {
		int n = epoll_wait(ep, events, EVENTS, -1);
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			if (fd != lfd) {
				answer(fd);
				continue;
			}
			while ((fd = accept4(lfd, NULL, NULL, 0)) >= 0)
				watch(ep, EPOLL_CTL_ADD, fd, EPOLLIN);
		}
	}
}

static void serve(struct sockaddr_in a, int flows)
{
	int one = 1, lfd = socket(AF_INET, SOCK_STREAM | (flows > 1 ? SOCK_NONBLOCK : 0), 0);
	setsockopt(lfd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(lfd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* inherited */
	if (bind(lfd, (struct sockaddr *)&a, sizeof a) < 0)
		fail("bind");
	if (listen(lfd, BACKLOG) < 0)
		fail("listen");
	if (flows > 1)
		serve_many(lfd);
	serve_one(lfd);
}

static void finish(int fd, int reset)
{
	if (reset) {
		struct linger l = {1, 0};
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
	}
	close(fd);
}

static long one_flow(struct sockaddr_in a, double seconds, int reset, double *took)
{
	double start = now(), end = start + seconds, at = start;
	long n = 0;
	char b = 'x';
	while (at < end) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
			fail("connect");
		if (send(fd, &b, 1, MSG_NOSIGNAL) != 1)
			fail("send");
		if (recv(fd, &b, 1, 0) != 1)
			fail("recv");
		finish(fd, reset);
		if (++n % CLOCK_EVERY == 0)
			at = now();
	}
	*took = at - start;
	return n;
}

static void begin(int ep, struct sockaddr_in *a)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0 || (connect(fd, (struct sockaddr *)a, sizeof *a) < 0 && errno != EINPROGRESS))
		fail("connect");
	watch(ep, EPOLL_CTL_ADD, fd, EPOLLOUT);
}

static long many_flows(struct sockaddr_in a, int flows, double seconds, int reset, double *took)
{
	struct epoll_event events[EVENTS];
	double start = now(), end = start + seconds, at = start;
	int ep = epoll_create1(0);
	long n = 0;
	char b = 'x';
	for (int i = 0; i < flows; i++)
		begin(ep, &a);
	for (; at < end; at = now()) {
		int ready = epoll_wait(ep, events, EVENTS, 1000);
		for (int i = 0; i < ready; i++) {
			int fd = events[i].data.fd;
			if (events[i].events & EPOLLOUT) { /* connected, or failed to */
				if (send(fd, &b, 1, MSG_NOSIGNAL) != 1)
					fail("connect");
				watch(ep, EPOLL_CTL_MOD, fd, EPOLLIN);
				continue;
			}
			if (recv(fd, &b, 1, 0) != 1)
				fail("recv");
			finish(fd, reset);
			n++;
			begin(ep, &a);
		}
	}
	*took = at - start;
	return n;
}

int main(int argc, char **argv)
{
	double took;
	long n;
	if (argc == 5 && !strcmp(argv[1], "serve"))
		serve(address(argv[2], argv[3]), atoi(argv[4]));
	if (argc != 7 || strcmp(argv[1], "dial")) {
		fprintf(stderr, "usage: crrpeer serve ADDRESS PORT FLOWS | dial ADDRESS PORT FLOWS SECONDS fin|rst\n");
		return 2;
	}
	struct sockaddr_in a = address(argv[2], argv[3]);
	int flows = atoi(argv[4]), reset = !strcmp(argv[6], "rst");
	if (flows <= 1)
		n = one_flow(a, atof(argv[5]), reset, &took);
	else
		n = many_flows(a, flows, atof(argv[5]), reset, &took);
	printf("connections=%ld seconds=%.6f\n", n, took);
	return 0;
}
