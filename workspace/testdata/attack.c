/* Attacks that a shell cannot do. Each prints a word when it succeeds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int mptcp(int port) {
	int s = socket(AF_INET, SOCK_STREAM, 262);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return s < 0 || connect(s, (struct sockaddr *)&to, sizeof to) || write(s, "SECRET\n", 7) != 7;
}

static int named(const char *name, int abstract) {
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	strncpy(to.sun_path + abstract, name, sizeof to.sun_path - 2);
	socklen_t n = offsetof(struct sockaddr_un, sun_path) + abstract + strlen(name) + !abstract;
	return s < 0 || connect(s, (struct sockaddr *)&to, n) || write(s, "SECRET\n", 7) != 7;
}

/* A packet with an open descriptor, from a pair: no socket is made for it. */
static int packet(const char *name) {
	int pair[2], null = open("/dev/null", O_RDONLY);
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	strncpy(to.sun_path, name, sizeof to.sun_path - 1);
	struct iovec text = {"SECRET\n", 7};
	char space[CMSG_SPACE(sizeof null)];
	struct msghdr m = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &text, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof null);
	memcpy(CMSG_DATA(c), &null, sizeof null);
	for (int kind = SOCK_STREAM; kind <= SOCK_SEQPACKET; kind++)
		if (socketpair(AF_UNIX, kind, 0, pair) == 0 && sendmsg(pair[0], &m, 0) == 7)
			printf("SENT %d\n", kind);
	return 0;
}

static int pty(unsigned long request) {
	int master, slave;
	if (openpty(&master, &slave, NULL, NULL, NULL))
		return 1;
	if (fork() == 0) {
		setsid();
		ioctl(slave, TIOCSCTTY, 0);
		printf("STI %ld\n", syscall(SYS_ioctl, slave, request, "x"));
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

static int probes(void) {
	char attr[128] = {0};
	if (syscall(SYS_userfaultfd, 1) >= 0)
		puts("PROBE userfaultfd");
	*(uint32_t *)(attr + 4) = 112;
	*(uint32_t *)attr = 1;
	attr[40] = 0x60; /* leave the kernel out */
	if (syscall(SYS_perf_event_open, attr, 0, -1, -1, 0) >= 0)
		puts("PROBE perf");
	memset(attr, 0, sizeof attr);
	*(uint32_t *)attr = 2;
	*(uint32_t *)(attr + 4) = 4;
	*(uint32_t *)(attr + 8) = 4;
	*(uint32_t *)(attr + 12) = 1;
	if (syscall(SYS_bpf, 0, attr, 72) >= 0)
		puts("PROBE bpf");
	return 0;
}

static int peek(pid_t pid) {
	char path[64], buf[16];
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	if (open(path, O_RDONLY) >= 0)
		puts("PEEKED mem");
	struct iovec here = {buf, sizeof buf}, there = {(void *)0x400000, sizeof buf};
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT)
		puts("PEEKED readv");
	return 0;
}

static int trace(pid_t pid) {
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0) {
		puts("TRACED");
		ptrace(PTRACE_DETACH, pid, 0, 0);
	}
	return 0;
}

static int by_clone3(void) {
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	pid_t pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		puts("NSOK clone3");
	return 0;
}

static int by_clone(void) {
	pid_t pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		puts("NSOK clone");
	return 0;
}

static int alloc(size_t mib, int seconds) {
	char *p = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < mib << 20; i += 4096)
		p[i] = 1;
	sleep(seconds);
	puts("ALLOC");
	return 0;
}

/* As many processes as there may be at once, from the moment a file exists. */
/* Memory that is shared with nobody, with others, by a name, so that nobody may look at it, of a file, or with children that change none of it. */
static int share(size_t mib, const char *how) {
	size_t size = mib << 20;
	int kind = MAP_SHARED, children = 0, fd = -1, file = !strcmp(how, "file");
	if (!strcmp(how, "memfd") || !strcmp(how, "closed")) {
		fd = memfd_create("shared", 0);
	} else if (file) {
		fd = open("mapped", O_CREAT | O_RDWR, 0600);
	} else if (!strcmp(how, "children")) {
		kind = MAP_PRIVATE, children = 4;
	} else if (!strcmp(how, "nobody")) {
		kind = MAP_PRIVATE;
	}
	if (!strcmp(how, "closed")) prctl(PR_SET_DUMPABLE, 0);
	if (fd < 0) kind |= MAP_ANONYMOUS;
	else if (ftruncate(fd, size)) return 1;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, kind, fd, 0);
	if (p == MAP_FAILED) return 1;
	for (size_t i = 0; i < size; i += 4096) {
		if (file && p[i]) return 1;
		if (!file) p[i] = 1;
	}
	for (int i = 0; i < children; i++)
		if (fork() == 0) {
			usleep(300000);
			_exit(0);
		}
	usleep(file || children ? 300000 : 10000000);
	puts("SHARE");
	return 0;
}

static int flood(int most, const char *file) {
	int n = 0;
	puts("READY");
	while (access(file, F_OK) != 0)
		usleep(1000);
	for (pid_t p; n < most && (p = fork()) >= 0; n++)
		if (p == 0) {
			pause();
			_exit(0);
		}
	return printf("FLOOD %d\n", n) < 0;
}

static int handle(const char *path) {
	char space[sizeof(struct file_handle) + 128];
	struct file_handle *h = (struct file_handle *)space;
	int mount;
	h->handle_bytes = 128;
	if (name_to_handle_at(AT_FDCWD, path, h, &mount, 0) == 0)
		puts("HANDLE named");
	return 0;
}

/* What another process of the user may use, and when it runs. */
static int rule(pid_t pid) {
	struct rlimit cpu = {1000, 1000};
	if (prlimit(pid, RLIMIT_CPU, &cpu, NULL) == 0)
		puts("RULED limits");
	if (setpriority(PRIO_PROCESS, pid, 5) == 0)
		puts("RULED priority");
	cpu_set_t first;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (sched_setaffinity(pid, sizeof first, &first) == 0)
		puts("RULED processors");
	struct sched_param none = {0};
	if (sched_setscheduler(pid, SCHED_BATCH, &none) == 0)
		puts("RULED scheduling");
	if (syscall(SYS_ioprio_set, 1, pid, 3 << 13) == 0)
		puts("RULED disk");
	return 0;
}

/* A terminal of the user's, as one of another window is. */
static int terminal(const char *path) {
	int t = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	if (t >= 0)
		puts("TERMINAL read");
	t = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK);
	if (t >= 0 && write(t, "password: ", 10) == 10)
		puts("TERMINAL written");
	return 0;
}

static int int80(void) {
#ifdef __x86_64__
	int r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory");
	return r > 0 ? 42 : 1;
#else
	return 1;
#endif
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "", *a = argc > 2 ? argv[2] : "", *b = argc > 3 ? argv[3] : "";
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "mptcp")) return mptcp(atoi(a));
	if (!strcmp(what, "unix")) return named(a, 0);
	if (!strcmp(what, "packet")) return packet(a);
	if (!strcmp(what, "abstract")) return named(a, 1);
	if (!strcmp(what, "uring")) {
		char params[256] = {0};
		return printf("URING %ld\n", syscall(SYS_io_uring_setup, 8, params)) < 0;
	}
	if (!strcmp(what, "socket")) return printf("SOCKET %d\n", socket(atoi(a), SOCK_DGRAM, atoi(b))) < 0;
	if (!strcmp(what, "int80")) return int80();
	if (!strcmp(what, "pty")) return pty(strtoul(a, NULL, 0));
	if (!strcmp(what, "sti")) return printf("STI %d\n", ioctl(open(a, O_RDWR), TIOCSTI, "x")) < 0;
	if (!strcmp(what, "probes")) return probes();
	if (!strcmp(what, "peek")) return peek(atoi(a));
	if (!strcmp(what, "trace")) return trace(atoi(a));
	if (!strcmp(what, "rule")) return rule(atoi(a));
	if (!strcmp(what, "shared")) return shmget(atoi(a), 4096, IPC_CREAT | 0600) < 0;
	if (!strcmp(what, "terminal")) return terminal(a);
	if (!strcmp(what, "clone")) return by_clone();
	if (!strcmp(what, "clone3")) return by_clone3();
	if (!strcmp(what, "alloc")) return alloc(atol(a), atoi(b));
	if (!strcmp(what, "share")) return share(atol(a), b);
	if (!strcmp(what, "flood")) return flood(atoi(a), b);
	if (!strcmp(what, "handle")) return handle(a);
	if (!strcmp(what, "exchange")) return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
	if (!strcmp(what, "setuid")) return open(a, O_CREAT | O_WRONLY, 04755) < 0;
	if (!strcmp(what, "keys")) {
		if (syscall(SYS_add_key, "user", "x", "y", 1, -1) > 0) puts("KEYS");
		return 0;
	}
	return 2;
}
