/* SPDX-License-Identifier: Apache-2.0 */
/* testbed_switches: all switches of a test bed as BPF programs. Loads them, takes commands, writes
 * down what they punt. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "meters.h"
#include "openflow.h"
#include "pint.h"
#include "switches.h"
#include "tables.h"

/* testbed_switches --topology FILE --control SOCKET --punts FILE [--no-tags | --openflow SOCKET]
 *     [--plan FILE] [--meters FOLDER [--top]] --site NETNS=ID,ID,… [--site …]
 *
 * Rows come from the codec's library, with --openflow from the controller at that socket. With a
 * telemetry plan the switches write digests as well; where the codec is pint, nothing but these.
 * With --meters the switches of racks, with --top also those at the top, count what segments carry
 * (src/meter/kernel.h); a monitor finds their maps in FOLDER/SWITCH.
 *
 * Prints "ready" when all of them forward. A client of the socket sends commands (control.c), one a
 * line, ends its half of the connection and gets the answers, or "error: …" at the first one that
 * fails; those before it are done. A punted packet is a line of JSON in the punts' file. */

#define SWITCHES_MAX 256
#define INPUT_BYTES  (4 << 20)
#define CLIENT_S     10
#define TICK_MS      100

struct fabric {
    struct pd_topology *topology;
    struct pd_codec *codec;
    struct tc_switch switches[SWITCHES_MAX];
    struct tc_session sessions[SWITCHES_MAX]; /* of those switches, where there is a controller */
    size_t switches_len;
    const char *openflow;      /* NULL: no controller */
    struct pd_pint_plan *plan; /* NULL: no digests */
    struct tc_meters meters;
    struct ring_buffer *punts; /* and packets whose TTL has ended */
    FILE *punts_file;
    int control_fd;
    char *input; /* INPUT_BYTES */
};

/* ---- punts ---------------------------------------------------------------------------------- */

static int write_punt(void *context, void *data, size_t bytes)
{
    struct fabric *fabric = context;
    const struct punt *punt = data;
    FILE *out = fabric->punts_file;

    (void)bytes;
    fprintf(out,
            "{\"switch\": %u, \"in_port\": %u, \"time_ns\": %llu, \"bytes\": %u, \"frame\": \"",
            punt->switch_id, punt->in_port, (unsigned long long)punt->time_ns, punt->frame_bytes);
    for (uint32_t i = 0; i < punt->data_bytes && i < sizeof(punt->data); i++) {
        fprintf(out, "%02x", punt->data[i]);
    }
    fputs("\"}\n", out);
    for (size_t i = 0; fabric->openflow && i < fabric->switches_len; i++) {
        if (fabric->switches[i].id == punt->switch_id) {
            tc_session_punt(&fabric->sessions[i], punt);
        }
    }
    return fflush(out);
}

static int answer_expired(void *context, void *data, size_t bytes)
{
    struct fabric *fabric = context;
    const struct expired *event = data;

    (void)bytes;
    for (size_t i = 0; i < fabric->switches_len; i++) {
        if (fabric->switches[i].id == event->switch_id) {
            tc_answer(&fabric->switches[i], event);
        }
    }
    return 0;
}

static int watch(struct fabric *fabric, int ring_fd, ring_buffer_sample_fn hear)
{
    if (fabric->punts) {
        return ring_buffer__add(fabric->punts, ring_fd, hear, fabric);
    }
    fabric->punts = ring_buffer__new(ring_fd, hear, fabric, NULL);
    return fabric->punts ? 0 : -errno;
}

static int watch_punts(struct fabric *fabric, const struct tc_switch *sw)
{
    int err = watch(fabric, tc_table(sw, "punts"), write_punt);

    return err ? err : watch(fabric, tc_table(sw, "ends"), answer_expired);
}

/* ---- bringing up ---------------------------------------------------------------------------- */

static int open_switch(struct fabric *fabric, uint32_t id, struct pd_error *error)
{
    struct tc_switch *sw = &fabric->switches[fabric->switches_len];
    int r;

    if (fabric->switches_len == SWITCHES_MAX) {
        return pd_fail(error, -PD_E_TOO_LARGE, "more than %d switches", SWITCHES_MAX);
    }
    r = tc_switch_open(fabric->topology, fabric->codec, id, PD_SWITCH_OBJECT, sw, error);
    if (r < 0) {
        return r;
    }
    tc_session_init(&fabric->sessions[fabric->switches_len++], sw, fabric->openflow);
    if (fabric->plan && (r = tc_pint_put(sw, fabric->plan, error)) < 0) {
        return r;
    }
    r = tc_meters_open(sw, &fabric->meters, error);
    if (r < 0) {
        return r;
    }
    r = watch_punts(fabric, sw);
    return r < 0 ? pd_fail(error, r, "switch %u: punts: %s", id, strerror(-r)) : 0;
}

/* "/proc/17/fd/100=1,2,9": those switches in that namespace. */
static int open_site(struct fabric *fabric, char *site, struct pd_error *error)
{
    char *ids = strchr(site, '='), *rest;
    int fd, r;

    if (!ids) {
        return pd_fail(error, -PD_E_SYNTAX, "no NETNS=ID,…: %s", site);
    }
    *ids++ = '\0';
    fd = open(site, O_RDONLY | O_CLOEXEC);
    r = fd < 0 || setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    if (r < 0) {
        return pd_fail(error, r, "%s: %s", site, strerror(-r));
    }
    for (char *id = strtok_r(ids, ",", &rest); id && r == 0; id = strtok_r(NULL, ",", &rest)) {
        r = open_switch(fabric, (uint32_t)strtoul(id, NULL, 10), error);
    }
    return r;
}

static int listen_at(const char *path, struct pd_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, 16) < 0) {
        return pd_fail(error, -errno, "%s: %s", path, strerror(errno));
    }
    return fd;
}

/* ---- commands ------------------------------------------------------------------------------- */

/* Everything up to the client's end; -1 when that does not come in time, or is too much. */
static ssize_t read_all(int fd, char *input)
{
    const struct timeval limit = {.tv_sec = CLIENT_S};
    size_t len = 0;
    ssize_t got;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    do {
        got = read(fd, input + len, INPUT_BYTES - 1 - len);
        len += got > 0 ? (size_t)got : 0;
    } while (got > 0 && len < INPUT_BYTES - 1);
    input[len] = '\0';
    return got ? -1 : (ssize_t)len;
}

static void execute(struct fabric *fabric, FILE *answer)
{
    struct pd_error error = {0};
    char *rest;
    int r = 0;

    for (char *line = strtok_r(fabric->input, "\n", &rest); line && r == 0;
         line = strtok_r(NULL, "\n", &rest)) {
        r = tc_command(fabric->switches, fabric->switches_len, line, answer, &error);
    }
    if (r < 0) {
        fprintf(answer, "error: %s\n", error.text);
    }
}

static void serve(struct fabric *fabric)
{
    const int fd = accept(fabric->control_fd, NULL, NULL);
    FILE *answer = fd < 0 ? NULL : fdopen(fd, "w");

    if (!answer) {
        return;
    }
    if (read_all(fd, fabric->input) >= 0) {
        execute(fabric, answer);
    } else {
        fputs("error: the commands were cut off\n", answer);
    }
    fclose(answer);
}

/* One turn of the sessions; they say what they want of the next. */
static void serve_sessions(struct fabric *fabric, struct pollfd *fds)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();

    for (size_t i = 0; fabric->openflow && i < fabric->switches_len; i++) {
        struct tc_session *session = &fabric->sessions[i];

        tc_session_ready(session, fds[i].fd == session->fd ? fds[i].revents : 0, now_ns);
        tc_session_tick(session, now_ns);
        fds[i] = (struct pollfd){.fd = session->fd, .events = tc_session_events(session)};
    }
}

static int run(struct fabric *fabric)
{
    static struct pollfd fds[2 + SWITCHES_MAX];
    const size_t len = 2 + (fabric->openflow ? fabric->switches_len : 0);

    fds[0] = (struct pollfd){.fd = fabric->control_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = ring_buffer__epoll_fd(fabric->punts), .events = POLLIN};
    for (;;) {
        serve_sessions(fabric, fds + 2);
        if (poll(fds, len, fabric->openflow ? TICK_MS : -1) < 0 && errno != EINTR) {
            return 1;
        }
        ring_buffer__consume(fabric->punts);
        if (fds[0].revents) {
            serve(fabric);
        }
    }
}

/* ---- command line --------------------------------------------------------------------------- */

struct settings {
    const char *topology, *control, *punts, *openflow, *plan;
    struct tc_meters meters;
    bool tags;
    char *sites[SWITCHES_MAX];
    size_t sites_len;
};

static bool read_settings(int argc, char **argv, struct settings *settings)
{
    static const struct option options[] = {{"topology", required_argument, NULL, 't'},
                                            {"control", required_argument, NULL, 'c'},
                                            {"punts", required_argument, NULL, 'p'},
                                            {"no-tags", no_argument, NULL, 'n'},
                                            {"site", required_argument, NULL, 's'},
                                            {"openflow", required_argument, NULL, 'o'},
                                            {"plan", required_argument, NULL, 'd'},
                                            {"meters", required_argument, NULL, 'm'},
                                            {"top", no_argument, NULL, 'T'},
                                            {NULL, 0, NULL, 0}};
    int option;

    settings->tags = true;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 't': settings->topology = optarg; break;
        case 'c': settings->control = optarg; break;
        case 'p': settings->punts = optarg; break;
        case 'n': settings->tags = false; break;
        case 'o': settings->openflow = optarg; break;
        case 'd': settings->plan = optarg; break;
        case 'm': settings->meters.folder = optarg; break;
        case 'T': settings->meters.top = true; break;
        case 's':
            if (settings->sites_len == SWITCHES_MAX) {
                return false;
            }
            settings->sites[settings->sites_len++] = optarg;
            break;
        default: return false;
        }
    }
    return settings->topology && settings->control && settings->punts && settings->sites_len &&
           optind == argc;
}

static int bring_up(struct fabric *fabric, struct settings *settings, struct pd_error *error)
{
    int r = pd_topology_read(settings->topology, &fabric->topology, error);

    fabric->openflow = settings->openflow;
    fabric->meters = settings->meters;
    if (r == 0 && settings->plan) {
        r = pd_pint_plan_read(settings->plan, &fabric->plan, error);
    }
    if (r == 0 && settings->tags && !settings->openflow &&
        strcmp(fabric->topology->codec, "pint") != 0) {
        r = pd_codec_new(fabric->topology, &fabric->codec, error);
    }
    fabric->punts_file = fopen(settings->punts, "ae");
    fabric->input = malloc(INPUT_BYTES);
    if (r == 0 && (!fabric->punts_file || !fabric->input)) {
        r = pd_fail(error, -errno, "%s: %s", settings->punts, strerror(errno));
    }
    if (r == 0) {
        r = fabric->control_fd = listen_at(settings->control, error);
    }
    for (size_t i = 0; i < settings->sites_len && r >= 0; i++) {
        r = open_site(fabric, settings->sites[i], error);
    }
    return r;
}

int main(int argc, char **argv)
{
    static struct fabric fabric;
    static struct settings settings;
    struct pd_error error = {0};

    if (!read_settings(argc, argv, &settings)) {
        fprintf(stderr, "usage: testbed_switches --topology FILE --control SOCKET --punts FILE "
                        "[--no-tags | --openflow SOCKET] [--plan FILE] [--meters FOLDER [--top]] "
                        "--site NETNS=ID,ID,… …\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (bring_up(&fabric, &settings, &error) < 0) {
        fprintf(stderr, "testbed_switches: %s\n", error.text);
        return 1;
    }
    puts("ready");
    fflush(stdout);
    return run(&fabric);
}
