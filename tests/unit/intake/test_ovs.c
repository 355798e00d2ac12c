/* SPDX-License-Identifier: Apache-2.0 */
/* The intake ovs: against a switch that is this test, which speaks the socket's protocol and counts
 * into a region. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "intake/intake.h"
#include "trajectory/region.h"

#define RECORDS    1000
#define RING_SLOTS 64

/* ---- the switch ------------------------------------------------------------------------------ */

struct fake {
    char path[64];
    int listen_fd, fd;
    int fds[2];
    uint32_t version;
    struct pd_region *region;
    size_t bytes;
    struct pd_index *index;
    struct pd_event_ring ring;
    struct pd_trajectory *trajectory;
};

static void *shared(size_t bytes, int *ret_fd)
{
    *ret_fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(*ret_fd >= 0);
    assert_int_equal(ftruncate(*ret_fd, (off_t)bytes), 0);
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(fcntl(*ret_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    return map;
}

static void fake_init(struct fake *fake)
{
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *fake = (struct fake){.fd = -1, .version = PD_REGION_VERSION};
    snprintf(fake->path, sizeof fake->path, "/tmp/test_ovs.%d", (int)getpid());
    unlink(fake->path);
    config.max_records = RECORDS * 2;
    fake->bytes = pd_trajectory_region_bytes(config.max_records, RING_SLOTS, 0);
    void *map = shared(fake->bytes, &fake->fds[0]);
    fake->index = shared(PD_INDEX_BYTES, &fake->fds[1]);
    fake->region = pd_trajectory_region_init(map, config.max_records, RING_SLOTS, 0);
    fake->region->region_id = 1;
    pd_trajectory_event_ring_init(&fake->ring, fake->region, fake->index);
    struct pd_trajectory_sink sink = pd_trajectory_event_ring_sink(&fake->ring);
    assert_int_equal(pd_trajectory_new_in(fake->region, &config, &sink, &fake->trajectory), 0);
    memcpy(address.sun_path, fake->path, strlen(fake->path) + 1);
    fake->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fake->listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fake->listen_fd, 4), 0);
}

static void fake_done(struct fake *fake)
{
    pd_trajectory_free(fake->trajectory);
    munmap(fake->region, fake->bytes);
    munmap(fake->index, PD_INDEX_BYTES);
    close(fake->fds[0]);
    close(fake->fds[1]);
    close(fake->listen_fd);
    if (fake->fd >= 0) {
        close(fake->fd);
    }
    unlink(fake->path);
}

static void fake_send(const struct fake *fake, enum pd_message_type type, bool with_fds)
{
    struct pd_message body = {
        .type = type, .version = fake->version, .instance_id = 99, .region_id = 1};
    char control[CMSG_SPACE(sizeof fake->fds)] = {0};
    struct iovec iov = {&body, sizeof body};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (with_fds) {
        struct cmsghdr *header = (struct cmsghdr *)(void *)control;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fake->fds);
        memcpy(CMSG_DATA(header), fake->fds, sizeof fake->fds);
    }
    assert_int_equal(sendmsg(fake->fd, &message, MSG_NOSIGNAL), sizeof body);
}

static void fake_accept(struct fake *fake)
{
    if (fake->fd >= 0) {
        close(fake->fd);
    }
    fake->fd = accept(fake->listen_fd, NULL, NULL);
    assert_true(fake->fd >= 0);
    fake_send(fake, PD_MESSAGE_HELLO, false);
    fake_send(fake, PD_MESSAGE_REGION, true);
}

/* Packet number n of flow n: each its own size, so that sums tell which ones came. */
static void fake_count(struct fake *fake, uint32_t from, uint32_t to, uint8_t tcp_flags)
{
    for (uint32_t n = from; n < to; n++) {
        struct pd_packet packet = {.ip_bytes = 100 + n, .tcp_flags = tcp_flags};
        uint64_t now_ns = pd_clock_monotonic_ns();
        packet.flow = (struct pd_flow_id){.protocol = 6, .ip_version = n & 1 ? 6 : 4};
        memcpy(packet.flow.src.bytes, &n, sizeof n);
        pd_trajectory_update(fake->trajectory, &packet, NULL, &now_ns, 1, pd_tags_bits(false));
    }
}

/* ---- the agent ------------------------------------------------------------------------------- */

struct agent {
    struct pd_intake *intake;
    uint64_t pkts, bytes;           /* given to the sink */
    uint64_t live_pkts, live_bytes; /* of the last walk */
    uint64_t position;              /* told */
    uint64_t stored;                /* as the TIB would say; 0: nothing */
};

static bool take(void *context, const struct pd_trajectory_record *record)
{
    struct agent *agent = context;
    agent->pkts += record->pkts;
    agent->bytes += record->bytes;
    return true;
}

static void visit(void *context, const struct pd_trajectory_record *record)
{
    struct agent *agent = context;
    agent->live_pkts += record->pkts;
    agent->live_bytes += record->bytes;
}

static void position(void *context, uint64_t key, uint64_t at)
{
    struct agent *agent = context;
    (void)key;
    agent->position = at;
}

static int stored(void *context, uint64_t key, uint64_t *ret_position)
{
    struct agent *agent = context;
    (void)key;
    *ret_position = agent->stored;
    return agent->stored ? 0 : -PD_E_NOT_FOUND;
}

static void agent_open(struct agent *agent, const struct fake *fake)
{
    struct pd_intake_config config = {.trajectory = PD_TRAJECTORY_DEFAULTS,
                                      .wake_fd = -1,
                                      .stored = stored,
                                      .stored_context = agent};
    struct pd_trajectory_sink sink = {agent, take, NULL};
    char spec[80];
    snprintf(spec, sizeof spec, "ovs:%s", fake->path);
    assert_int_equal(pd_intake_open(spec, &config, &sink, &agent->intake, NULL), 0);
    assert_true(pd_intake_keeps(agent->intake));
}

static struct pd_intake_status status(const struct agent *agent)
{
    struct pd_intake_status now;
    pd_intake_status(agent->intake, &now);
    return now;
}

static void attach(struct agent *agent, struct fake *fake)
{
    assert_int_equal(status(agent).state, PD_INTAKE_WAITING);
    assert_int_equal(pd_intake_poll(agent->intake, 0), 0);
    fake_accept(fake);
    assert_int_equal(pd_intake_poll(agent->intake, 0), 0);
    assert_int_equal(status(agent).state, PD_INTAKE_RUNNING);
}

static uint64_t bytes_of(uint32_t from, uint32_t to)
{
    uint64_t bytes = 0;
    for (uint32_t n = from; n < to; n++) {
        bytes += 100 + n;
    }
    return bytes;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Read but not stored, stored but not acknowledged: the next agent gets the rest, once. */
static void an_agent_dies(void **state)
{
    (void)state;
    struct fake fake;
    struct agent agent = {0};
    fake_init(&fake);
    agent_open(&agent, &fake);
    attach(&agent, &fake);
    fake_count(&fake, 0, 20, 0x11);
    pd_trajectory_sweep(fake.trajectory, pd_clock_monotonic_ns());
    assert_int_equal(pd_trajectory_flush(fake.trajectory), 0);
    while (agent.pkts < 20) {
        pd_intake_poll(agent.intake, 0);
    }
    pd_intake_positions(agent.intake, position, &agent);
    assert_true(agent.position >= 20);
    assert_int_equal(fake.index->read, 0); /* nothing is stored yet */
    pd_intake_close(agent.intake);

    struct agent second = {0};
    agent_open(&second, &fake);
    attach(&second, &fake);
    pd_intake_poll(second.intake, 0);
    assert_int_equal(second.pkts, 20);
    assert_int_equal(second.bytes, bytes_of(0, 20));
    pd_intake_close(second.intake);

    struct agent third = {.stored = agent.position};
    agent_open(&third, &fake);
    attach(&third, &fake);
    assert_int_equal(third.pkts, 0);
    assert_int_equal(fake.index->read, agent.position);
    fake_count(&fake, 20, 30, 0x10);
    pd_intake_walk(third.intake, visit, &third);
    assert_int_equal(third.live_pkts, 10);
    assert_int_equal(third.live_bytes, bytes_of(20, 30));
    assert_int_equal(status(&third).live_records, 10);
    pd_intake_close(third.intake);
    fake_done(&fake);
}

/* The ring was full, the table holds the rest: all of it is taken, also what stands in both. */
static void a_switch_dies(void **state)
{
    (void)state;
    struct fake fake;
    struct agent agent = {0};
    int ready[2];
    fake_init(&fake);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* listens itself: whose process it is, is told by the socket */
        if (listen(fake.listen_fd, 4)) {
            _exit(1);
        }
        fake_count(&fake, 0, RECORDS, 0x10);
        pd_trajectory_flush(fake.trajectory);
        if (write(ready[1], "", 1) != 1) {
            _exit(1);
        }
        fake.fd = accept(fake.listen_fd, NULL, NULL);
        fake_send(&fake, PD_MESSAGE_HELLO, false);
        fake_send(&fake, PD_MESSAGE_REGION, true);
        if (write(ready[1], "", 1) != 1) {
            _exit(1);
        }
        pause();
        _exit(1);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    agent_open(&agent, &fake);
    pd_intake_poll(agent.intake, 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    pd_intake_poll(agent.intake, 0);
    assert_int_equal(status(&agent).state, PD_INTAKE_RUNNING);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 100 && status(&agent).state == PD_INTAKE_RUNNING; i++) {
        pd_intake_poll(agent.intake, 10);
    }
    assert_int_equal(status(&agent).state, PD_INTAKE_WAITING);
    assert_int_equal(agent.pkts, RECORDS);
    assert_int_equal(agent.bytes, bytes_of(0, RECORDS));
    pd_intake_positions(agent.intake, position, &agent);
    pd_intake_close(agent.intake);
    close(ready[0]);
    close(ready[1]);
    fake_done(&fake);
}

/* The agent was sent away for a moment; the switch has counted on, and nothing counts twice. */
static void a_region_comes_again(void **state)
{
    (void)state;
    struct fake fake;
    struct agent agent = {0};
    fake_init(&fake);
    agent_open(&agent, &fake);
    attach(&agent, &fake);
    fake_count(&fake, 0, 20, 0x10);
    assert_int_equal(status(&agent).trajectory.updates, 20);
    assert_true(status(&agent).ring_events >= 20); /* new flows */
    assert_int_equal(send(fake.fd, "?", 1, MSG_NOSIGNAL), 1);
    pd_intake_poll(agent.intake, 0);
    assert_int_equal(status(&agent).state, PD_INTAKE_WAITING);
    struct pollfd comes = {fake.listen_fd, POLLIN, 0};
    while (poll(&comes, 1, 0) == 0) {
        pd_intake_poll(agent.intake, 10);
    }
    fake_accept(&fake);
    pd_intake_poll(agent.intake, 0);
    assert_int_equal(status(&agent).state, PD_INTAKE_RUNNING);
    fake_count(&fake, 20, 30, 0x10);
    assert_int_equal(status(&agent).trajectory.updates, 30);
    assert_int_equal(status(&agent).live_records, 30);
    pd_intake_close(agent.intake);
    fake_done(&fake);
}

static void another_version_is_refused(void **state)
{
    (void)state;
    struct fake fake;
    struct agent agent = {0};
    fake_init(&fake);
    fake.version = 7;
    agent_open(&agent, &fake);
    pd_intake_poll(agent.intake, 0);
    fake_accept(&fake);
    pd_intake_poll(agent.intake, 0);
    assert_int_equal(status(&agent).state, PD_INTAKE_WAITING);
    assert_non_null(strstr(status(&agent).detail, "version 7"));
    assert_non_null(strstr(status(&agent).detail, "version 2"));
    pd_intake_close(agent.intake);
    fake_done(&fake);
}

static void no_switch_is_waited_for(void **state)
{
    (void)state;
    struct fake fake = {.path = "/nonexistent/socket"};
    struct agent agent = {0};
    agent_open(&agent, &fake);
    assert_int_equal(pd_intake_poll(agent.intake, 0), 0);
    assert_int_equal(status(&agent).state, PD_INTAKE_WAITING);
    assert_int_equal(pd_intake_flush(agent.intake), 0);
    pd_intake_close(agent.intake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_dies),           cmocka_unit_test(a_switch_dies),
        cmocka_unit_test(a_region_comes_again),    cmocka_unit_test(another_version_is_refused),
        cmocka_unit_test(no_switch_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
