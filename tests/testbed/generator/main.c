/* SPDX-License-Identifier: Apache-2.0 */
/* testbed_traffic: serves transfers, and makes transfers to addresses drawn at random, so many
 * Mb/s of them, until it is ended. */
#include "generator.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

/* testbed_traffic --rate MBIT [--sizes FILE|NAME] [--flow-rate MBIT] [--flows N] [--udp SHARE]
 *     [--seed N] [--report FILE] ADDRESS…
 *
 * Prints "ready" when it serves, and begins to send at the end of a line of input. Flows begin as a
 * Poisson process with sizes from the file (src/sim/sizes.h), each no faster than --flow-rate; what
 * finds --flows of them under way begins when one ends, and is counted as late. Prints what was
 * carried as a line of JSON when it is ended, and writes it to the report each second. */

#define SECOND_NS  UINT64_C(1000000000)
#define TICK_MS    1
#define EVENTS     256
#define FILES      65536
#define FILE_BYTES 512

static volatile sig_atomic_t ended;

static void end(int number)
{
    (void)number;
    ended = 1;
}

/* ---- report --------------------------------------------------------------------------------- */

static void print_totals(const struct generator *generator, FILE *out)
{
    const struct totals *totals = &generator->totals;
    const double seconds = (double)(generator->now_ns - generator->start_ns) / (double)SECOND_NS;

    fprintf(out,
            "{\"seconds\": %.3f, \"started\": %llu, \"done\": %llu, \"failed\": %llu, \"wrong\": "
            "%llu, \"late\": %llu, \"sent_bytes\": %llu, \"received_bytes\": %llu, "
            "\"datagrams_sent\": %llu, \"datagrams_received\": %llu}\n",
            seconds, (unsigned long long)totals->started, (unsigned long long)totals->done,
            (unsigned long long)totals->failed, (unsigned long long)totals->wrong,
            (unsigned long long)totals->late, (unsigned long long)totals->sent_bytes,
            (unsigned long long)totals->received_bytes, (unsigned long long)totals->datagrams_sent,
            (unsigned long long)totals->datagrams_received);
    fflush(out);
}

/* Who reads it sees a whole one. */
static void write_report(const struct generator *generator, const char *file)
{
    char fresh[FILE_BYTES];
    FILE *out;

    snprintf(fresh, sizeof(fresh), "%s.new", file);
    out = fopen(fresh, "we");
    if (out) {
        print_totals(generator, out);
        fclose(out);
        rename(fresh, file);
    }
}

/* ---- flows ---------------------------------------------------------------------------------- */

static void start_flow(struct generator *generator)
{
    const uint64_t size = (uint64_t)pd_sim_sizes_draw(&generator->sizes, &generator->random);
    struct sockaddr_in6 to =
        generator->targets[pd_sim_random_below(&generator->random, generator->targets_len)];

    to.sin6_port = htons((uint16_t)(generator->port + (size > LARGE_BYTES)));
    if (pd_sim_random_share(&generator->random) < generator->udp_share) {
        udp_start(generator, &to, size);
    } else {
        tcp_start(generator, &to, size);
    }
}

/* Those whose time has come, as far as there is room. */
static void start_flows(struct generator *generator)
{
    const double gap_ns = generator->sizes.mean_bytes * 8e3 / generator->mbit;

    while (generator->next_ns <= generator->now_ns && generator->len < generator->flows_max) {
        generator->totals.late +=
            generator->now_ns - generator->next_ns > 10 * TICK_MS * PD_NS_PER_MS;
        start_flow(generator);
        generator->next_ns += (uint64_t)(pd_sim_random_exponential(&generator->random) * gap_ns);
    }
}

static void run(struct generator *generator, const char *report)
{
    struct epoll_event events[EVENTS];
    uint64_t swept_ns = generator->now_ns;

    while (!ended) {
        const int len = epoll_wait(generator->epoll, events, EVENTS, TICK_MS);

        generator->now_ns = pd_clock_monotonic_ns();
        for (int i = 0; i < len; i++) {
            struct source *source = events[i].data.ptr;

            source->ready(source, events[i].events);
        }
        udp_send(generator);
        start_flows(generator);
        if (generator->now_ns - swept_ns > SECOND_NS) {
            swept_ns = generator->now_ns;
            tcp_sweep(generator);
            if (report) {
                write_report(generator, report);
            }
        }
    }
}

/* ---- command line --------------------------------------------------------------------------- */

static bool read_target(struct generator *generator, const char *text)
{
    struct sockaddr_in6 *to = &generator->targets[generator->targets_len++];
    char mapped[64];

    *to = (struct sockaddr_in6){.sin6_family = AF_INET6};
    snprintf(mapped, sizeof(mapped), "%s%s", strchr(text, ':') ? "" : "::ffff:", text);
    return inet_pton(AF_INET6, mapped, &to->sin6_addr) == 1;
}

static bool read_targets(struct generator *generator, char **texts, int len)
{
    generator->targets = calloc((size_t)len + 1, sizeof(*generator->targets));
    for (int i = 0; i < len && generator->targets; i++) {
        if (!read_target(generator, texts[i])) {
            fprintf(stderr, "testbed_traffic: no address: %s\n", texts[i]);
            return false;
        }
    }
    return generator->targets && len;
}

static bool read_options(int argc, char **argv, struct generator *generator, const char **sizes,
                         const char **report)
{
    static const struct option options[] = {{"rate", required_argument, NULL, 'r'},
                                            {"sizes", required_argument, NULL, 's'},
                                            {"flow-rate", required_argument, NULL, 'f'},
                                            {"flows", required_argument, NULL, 'n'},
                                            {"udp", required_argument, NULL, 'u'},
                                            {"seed", required_argument, NULL, 'x'},
                                            {"report", required_argument, NULL, 'o'},
                                            {"port", required_argument, NULL, 'p'},
                                            {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'r': generator->mbit = atof(optarg); break;
        case 's': *sizes = optarg; break;
        case 'f': generator->flow_mbit = atof(optarg); break;
        case 'n': generator->flows_max = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'u': generator->udp_share = atof(optarg); break;
        case 'x': generator->random.state = strtoull(optarg, NULL, 10); break;
        case 'o': *report = optarg; break;
        case 'p': generator->port = (uint16_t)strtoul(optarg, NULL, 10); break;
        default: return false;
        }
    }
    return generator->mbit > 0 && generator->flow_mbit > 0 && generator->flows_max &&
           generator->port && read_targets(generator, argv + optind, argc - optind);
}

static bool open_all(struct generator *generator)
{
    const struct rlimit files = {FILES, FILES};

    setrlimit(RLIMIT_NOFILE, &files);
    generator->epoll = epoll_create1(EPOLL_CLOEXEC);
    TAILQ_INIT(&generator->flows);
    TAILQ_INIT(&generator->datagrams);
    pattern_fill(generator);
    for (uint16_t port = generator->port; port <= generator->port + 1; port++) {
        if (!tcp_listen(generator, port) || !udp_listen(generator, port)) {
            fprintf(stderr, "testbed_traffic: port %u: %s\n", port, strerror(errno));
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct generator generator = {.flow_mbit = 20, .flows_max = 1000, .port = 5001};
    const char *sizes = "web-search", *report = NULL;
    struct pd_error error;
    char line[2];

    generator.random.state = (uint64_t)getpid() ^ pd_clock_monotonic_ns();
    if (!read_options(argc, argv, &generator, &sizes, &report)) {
        fprintf(stderr, "usage: testbed_traffic --rate MBIT [--sizes FILE] [--flow-rate MBIT] "
                        "[--flows N] [--udp SHARE] [--port N] [--seed N] [--report FILE] "
                        "ADDRESS…\n");
        return 2;
    }
    if (pd_sim_sizes_read(sizes, &generator.sizes, &error)) {
        fprintf(stderr, "testbed_traffic: %s\n", error.text);
        return 1;
    }
    if (!open_all(&generator)) {
        return 1;
    }
    signal(SIGTERM, end);
    signal(SIGINT, end);
    puts("ready");
    fflush(stdout);
    if (read(STDIN_FILENO, line, sizeof(line)) < 0) { /* until all others serve, too */
        return 1;
    }
    generator.start_ns = generator.now_ns = generator.next_ns = pd_clock_monotonic_ns();
    run(&generator, report);
    print_totals(&generator, stdout);
    return 0;
}
