/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint with its thread and real sockets: a whole fabric at once, idle connections, switches
 * that come twice. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "controller/switches/switches.h"
#include "fake.h"

#define PATIENCE_MS 60000
#define IDLE_LEN    500 /* connections that say nothing */
#define ROOM_LEN    50  /* for so many */
#define DESCRIPTORS 64  /* where they are to run out */
#define CROWD_LEN   84  /* connections of those who take them */

struct world {
    struct pd_topology *topology;
    struct pd_codec *codec;
    char path[64];
};

/* A scripted switch behind a socket, driven by the test's thread. */
struct peer {
    struct fake fake;
    int fd;
};

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static int connect_to(const struct world *world)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", world->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void peer_init(struct peer *peer, const struct world *world, uint64_t datapath_id)
{
    fake_init(&peer->fake, datapath_id);
    peer->fd = connect_to(world);
}

static void peer_done(struct peer *peer)
{
    fake_done(&peer->fake);
    if (peer->fd >= 0) {
        close(peer->fd);
    }
}

/* Sends what it has to say and hears what there is; false when the other end has hung up. */
static bool peer_step(struct peer *peer)
{
    uint8_t data[4096];
    struct of_buffer *out = &peer->fake.out;
    if (out->bytes && send(peer->fd, out->data, out->bytes, MSG_NOSIGNAL) != (ssize_t)out->bytes) {
        return false;
    }
    out->bytes = 0;
    ssize_t got = recv(peer->fd, data, sizeof data, MSG_DONTWAIT);
    if (got > 0) {
        fake_hear(&peer->fake, data, (size_t)got);
    }
    return got > 0 || (got < 0 && errno == EAGAIN);
}

static struct pd_switches *open_endpoint(const struct world *world,
                                         struct pd_switches_settings settings)
{
    struct pd_switches *switches = NULL;
    struct pd_error error;
    char listen[80];
    snprintf(listen, sizeof listen, "unix:%s", world->path);
    settings.listen = listen;
    if (pd_switches_open(world->codec, &settings, &switches, &error)) {
        fail_msg("%s", error.text);
    }
    return switches;
}

static unsigned in_state(struct pd_switches *switches, const struct world *world,
                         enum pd_switch_state state)
{
    unsigned len = 0;
    for (uint32_t i = 0; i < world->topology->switches_len; i++) {
        struct pd_switch_status status;
        pd_switches_status(switches, i, &status);
        len += status.state == state;
    }
    return len;
}

static void run_until(struct pd_switches *switches, const struct world *world, struct peer *peers,
                      unsigned len, enum pd_switch_state state)
{
    for (long ms = 0; in_state(switches, world, state) < len; ms++) {
        assert_true(ms < PATIENCE_MS);
        for (unsigned i = 0; i < len; i++) {
            assert_true(peer_step(&peers[i]));
        }
        pause_ms(1);
    }
}

static void wait_for(struct pd_switches *switches, enum pd_switches_counter counter, uint64_t value)
{
    for (long ms = 0; pd_switches_counter(switches, counter) < value; ms++) {
        assert_true(ms < PATIENCE_MS);
        pause_ms(1);
    }
    assert_int_equal(pd_switches_counter(switches, counter), value);
}

/* ---- tests */

/* All switches connect at once, few are checked at a time; then all of them come back, and nothing
 * has to be done. */
static void test_whole_fabric(void **state)
{
    struct world *world = *state;
    uint32_t len = world->topology->switches_len;
    struct peer *peers = calloc(len, sizeof *peers);
    struct pd_switches *switches =
        open_endpoint(world, (struct pd_switches_settings){.checks_max = 3});
    assert_non_null(peers);
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < len; i++) {
            struct fake old = peers[i].fake;
            if (round) {
                close(peers[i].fd);
            }
            peer_init(&peers[i], world, world->topology->switches[i].id);
            peers[i].fake.flows = old.flows;
            peers[i].fake.flows_len = old.flows_len;
            old.flows = NULL;
            fake_done(&old);
        }
        wait_for(switches, PD_SWITCHES_ACCEPTED, (round + 1) * len);
        run_until(switches, world, peers, len, PD_SWITCH_INSTALLED);
        for (uint32_t i = 0; i < len; i++) {
            assert_int_equal(peers[i].fake.additions > 0, round == 0);
        }
    }
    wait_for(switches, PD_SWITCHES_CONNECTED, 2 * len);
    assert_int_equal(pd_switches_counter(switches, PD_SWITCHES_REPAIRS), len);
    pd_switches_close(switches); /* with all of them connected */
    for (uint32_t i = 0; i < len; i++) {
        peer_done(&peers[i]);
    }
    free(peers);
}

/* Connections that never say a word take the places of each other, not that of a switch. */
static void test_idle_connections(void **state)
{
    struct world *world = *state;
    struct peer peer;
    int idle[IDLE_LEN];
    struct pd_switches *switches = open_endpoint(
        world, (struct pd_switches_settings){.strangers_max = ROOM_LEN, .handshake_ms = 60000});
    for (unsigned i = 0; i < IDLE_LEN / 2; i++) {
        idle[i] = connect_to(world);
    }
    peer_init(&peer, world, world->topology->switches[0].id);
    run_until(switches, world, &peer, 1, PD_SWITCH_INSTALLED);
    for (unsigned i = IDLE_LEN / 2; i < IDLE_LEN; i++) {
        idle[i] = connect_to(world);
    }
    wait_for(switches, PD_SWITCHES_ACCEPTED, IDLE_LEN + 1);
    assert_int_equal(pd_switches_counter(switches, PD_SWITCHES_CROWDED), IDLE_LEN - ROOM_LEN);
    assert_int_equal(in_state(switches, world, PD_SWITCH_INSTALLED), 1);
    for (unsigned i = 0; i < IDLE_LEN; i++) {
        close(idle[i]);
    }
    peer_done(&peer);
    wait_for(switches, PD_SWITCHES_PEER_ENDED, ROOM_LEN + 1);
    assert_int_equal(in_state(switches, world, PD_SWITCH_AWAY), world->topology->switches_len);
    pd_switches_close(switches);
}

/* A process of its own that opens connections when it is told to, and keeps them until the other
 * end of the pipe is closed. */
static pid_t start_crowd(const struct world *world, int *ret_go)
{
    static int crowd[CROWD_LEN];
    int pipe_ends[2];
    char word;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        close(pipe_ends[1]);
        if (read(pipe_ends[0], &word, 1) != 1) {
            _exit(1);
        }
        for (unsigned i = 0; i < CROWD_LEN; i++) {
            if ((crowd[i] = connect_to(world)) < 0) {
                _exit(1);
            }
        }
        _exit((int)read(pipe_ends[0], &word, 1)); /* ends with its parent at the latest */
    }
    close(pipe_ends[0]);
    *ret_go = pipe_ends[1];
    return pid;
}

static void set_descriptors(rlim_t len, struct rlimit *ret_before)
{
    assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_before), 0);
    struct rlimit limit = {.rlim_cur = len, .rlim_max = ret_before->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* More connections than descriptors: counted, and no reason to spin or to stop. */
static void test_descriptors_run_out(void **state)
{
    struct world *world = *state;
    struct rlimit before;
    struct peer peer;
    int go;
    pid_t crowd = start_crowd(world, &go);
    struct pd_switches *switches =
        open_endpoint(world, (struct pd_switches_settings){.handshake_ms = 60000});
    set_descriptors(DESCRIPTORS, &before);
    assert_int_equal(write(go, "x", 1), 1);
    for (long ms = 0; pd_switches_counter(switches, PD_SWITCHES_NO_ROOM) < 3; ms++) {
        assert_true(ms < PATIENCE_MS);
        pause_ms(1);
    }
    assert_true(pd_switches_counter(switches, PD_SWITCHES_CROWDED) > 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    peer_init(&peer, world, world->topology->switches[0].id);
    run_until(switches, world, &peer, 1, PD_SWITCH_INSTALLED);
    close(go);
    waitpid(crowd, NULL, 0);
    peer_done(&peer);
    pd_switches_close(switches);
}

/* The newer connection of a switch counts: the older one may be half dead. */
static void test_comes_twice(void **state)
{
    struct world *world = *state;
    struct peer peers[2];
    uint32_t id = world->topology->switches[2].id;
    struct pd_switches *switches = open_endpoint(world, (struct pd_switches_settings){0});
    struct pd_switch_status status;
    peer_init(&peers[0], world, id);
    run_until(switches, world, peers, 1, PD_SWITCH_INSTALLED);
    peer_init(&peers[1], world, id);
    for (long ms = 0; pd_switches_counter(switches, PD_SWITCHES_CHECKS) < 4; ms++) {
        assert_true(ms < PATIENCE_MS);
        peer_step(&peers[1]);
        pause_ms(1);
    }
    wait_for(switches, PD_SWITCHES_REPLACED, 1);
    pd_switches_status(switches, 2, &status);
    assert_int_equal(status.connects, 2);
    assert_int_equal(status.state, PD_SWITCH_INSTALLED);
    for (long ms = 0; peer_step(&peers[0]); ms++) {
        assert_true(ms < PATIENCE_MS);
        pause_ms(1);
    }
    peer_done(&peers[0]);
    peer_done(&peers[1]);
    pd_switches_close(switches);
}

struct heard {
    struct pd_switches **switches;
    atomic_uint packets, unknown;
};

/* Sends each packet back from within the callback. */
static void send_back(void *context, const struct pd_switches_packet_in *packet)
{
    struct heard *heard = context;
    assert_int_equal(pd_switches_packet_out(*heard->switches, packet->switch_id, packet->in_port,
                                            PD_SWITCHES_PORT_TABLE, packet->data, packet->bytes),
                     0);
    atomic_fetch_add(&heard->packets, 1);
}

static void count_unknown(void *context, uint64_t datapath_id, const char *peer)
{
    struct heard *heard = context;
    assert_int_equal(datapath_id,
                     UINT64_C(1) << 32 | 1); /* it only looks like switch 1 in 32 bits */
    assert_string_equal(peer, "unix");
    atomic_fetch_add(&heard->unknown, 1);
}

static void test_packets(void **state)
{
    struct world *world = *state;
    struct peer peer;
    struct pd_switches *switches = NULL;
    struct heard heard = {.switches = &switches};
    uint32_t id = world->topology->switches[1].id;
    switches = open_endpoint(
        world, (struct pd_switches_settings){.context = &heard, .on_packet_in = send_back});
    assert_int_equal(pd_switches_packet_out(switches, id, 1, 2, (const uint8_t *)"x", 1),
                     -PD_E_NOT_FOUND);
    assert_int_equal(pd_switches_check(switches, 12345), -PD_E_NOT_FOUND);
    peer_init(&peer, world, id);
    run_until(switches, world, &peer, 1, PD_SWITCH_INSTALLED);
    fake_packet_in(&peer.fake, 4, (const uint8_t *)"frame", 5);
    for (long ms = 0; !peer.fake.packet_outs; ms++) {
        assert_true(ms < PATIENCE_MS && peer_step(&peer));
        pause_ms(1);
    }
    assert_memory_equal(peer.fake.packet_out + 40, "frame", 5);
    assert_int_equal(atomic_load(&heard.packets), 1);
    static uint8_t large[PD_SWITCHES_FRAME_MAX + 1];
    assert_int_equal(pd_switches_packet_out(switches, id, 1, 2, large, sizeof large),
                     -PD_E_TOO_LARGE);
    pd_switches_close(switches);
    peer_done(&peer);
}

static void test_unknown_is_said_once(void **state)
{
    struct world *world = *state;
    struct heard heard = {0};
    struct pd_switches *switches = open_endpoint(
        world, (struct pd_switches_settings){.context = &heard, .on_unknown = count_unknown});
    for (unsigned i = 0; i < 5; i++) {
        struct peer peer;
        peer_init(&peer, world, UINT64_C(1) << 32 | 1);
        while (peer_step(&peer)) {
            pause_ms(1);
        }
        assert_int_equal(peer.fake.requests, 2); /* hello, features */
        peer_done(&peer);
    }
    wait_for(switches, PD_SWITCHES_UNKNOWN, 5);
    assert_int_equal(atomic_load(&heard.unknown), 1);
    pd_switches_close(switches);
}

static void test_addresses(void **state)
{
    static const char *const wrong[] = {"",
                                        "127.0.0.1:0",
                                        "tcp:0.0.0.0:0",
                                        "tcp:10.0.0.1:6653",
                                        "tcp:localhost",
                                        "unix:relative",
                                        "ssl:127.0.0.1:6653",
                                        "tls:unix:/tmp/x",
                                        "tls:",
                                        "tls:0.0.0.0:0", /* without a certificate */
                                        "tcp:127.0.0.1:0,tcp:10.0.0.1:0",
                                        "tcp:127.0.0.1:0,",
                                        "tcp:127.0.0.1:0,nonsense"};
    struct world *world = *state;
    struct pd_switches *switches = NULL;
    struct pd_switches_settings settings = {.listen = "tcp:127.0.0.1:0"};
    assert_int_equal(pd_switches_open(world->codec, &settings, &switches, NULL), 0);
    assert_int_equal(strncmp(pd_switches_address(switches), "127.0.0.1:", 10), 0);
    assert_string_not_equal(pd_switches_address(switches), "127.0.0.1:0");
    pd_switches_close(switches);
    char several[200], path[100];
    snprintf(path, sizeof path, "unix:%s,with,commas", world->path);
    snprintf(several, sizeof several, "tcp:127.0.0.1:0,%s,tcp:[::1]:0", path);
    settings.listen = several;
    assert_int_equal(pd_switches_open(world->codec, &settings, &switches, NULL), 0);
    assert_non_null(strstr(pd_switches_address(switches), path));
    assert_non_null(strstr(pd_switches_address(switches), ",[::1]:"));
    pd_switches_close(switches);
    assert_int_equal(access(path + strlen("unix:"), F_OK), -1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct pd_error error = {0};
        settings.listen = wrong[i];
        assert_int_equal(pd_switches_open(world->codec, &settings, &switches, &error), -PD_E_VALUE);
        assert_true(error.text[0]);
    }
}

int main(void)
{
    struct world world = {0};
    if (pd_topology_fat_tree(8, &world.topology, NULL) ||
        pd_codec_new(world.topology, &world.codec, NULL)) {
        return 1;
    }
    snprintf(world.path, sizeof world.path, "/tmp/pd-switches-%d.sock", getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_whole_fabric, &world),
        cmocka_unit_test_prestate(test_idle_connections, &world),
        cmocka_unit_test_prestate(test_descriptors_run_out, &world),
        cmocka_unit_test_prestate(test_comes_twice, &world),
        cmocka_unit_test_prestate(test_packets, &world),
        cmocka_unit_test_prestate(test_unknown_is_said_once, &world),
        cmocka_unit_test_prestate(test_addresses, &world),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pd_codec_free(world.codec);
    pd_topology_free(world.topology);
    return failed;
}
