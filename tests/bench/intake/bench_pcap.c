/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmark: a capture file in the page cache -> trajectory records, next to libpcap that only
 * reads it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "base/clock.h"
#include "intake/intake.h"

/* Frames of one tag and 4K flows over 20 s of packet time; 64 bytes on the wire, and 512. Prints,
 * for each format and size, the median of interleaved runs:
 * {"bench":"pcap","format":…,"frame_bytes":…,"pkts":…,"intake_pkts_per_s":…,"libpcap_pkts_per_s":…,
 * "ratio":…,"intake_cpu_ns_per_pkt":…}
 * The last one is what is left of the number on a machine that others use as well. */

#define PKTS      1000000U
#define FLOWS     4096
#define ROUNDS    5
#define BYTES_MAX 512
#define STEP_NS   20000

static char path[64] = "/tmp/pd-bench-pcap-XXXXXX", spec[80];

/* ---- the file ------------------------------------------------------------------------------- */

static void make_frame(uint8_t *frame, size_t bytes, uint32_t flow)
{
    const size_t ip_bytes = bytes - 18;
    const uint8_t head[] = {2,
                            0,
                            0,
                            0,
                            0,
                            2,
                            2,
                            0,
                            0,
                            0,
                            0,
                            1,
                            0x81,
                            0,
                            0,
                            (uint8_t)(1 + flow % 200),
                            8,
                            0,
                            0x45,
                            0,
                            (uint8_t)(ip_bytes >> 8),
                            (uint8_t)ip_bytes,
                            0,
                            0,
                            0,
                            0,
                            64,
                            17,
                            0,
                            0,
                            10,
                            1,
                            (uint8_t)(flow >> 8),
                            (uint8_t)flow,
                            10,
                            2,
                            1,
                            2,
                            (uint8_t)(flow >> 4),
                            (uint8_t)flow,
                            0,
                            80,
                            (uint8_t)((ip_bytes - 20) >> 8),
                            (uint8_t)(ip_bytes - 20),
                            0,
                            0};

    memset(frame, 0, bytes);
    memcpy(frame, head, sizeof(head));
}

static void write_pcap(FILE *out, uint64_t time_ns, const uint8_t *frame, uint32_t bytes)
{
    const uint32_t head[] = {(uint32_t)(time_ns / PD_NS_PER_S), (uint32_t)(time_ns % PD_NS_PER_S),
                             bytes, bytes};

    fwrite(head, sizeof(head), 1, out);
    fwrite(frame, bytes, 1, out);
}

static void write_pcapng(FILE *out, uint64_t time_ns, const uint8_t *frame, uint32_t bytes)
{
    const uint32_t total = 32 + bytes; /* the sizes are multiples of 4 */
    const uint64_t time_us = time_ns / 1000;
    const uint32_t head[] = {6,     total, 0, (uint32_t)(time_us >> 32), (uint32_t)time_us,
                             bytes, bytes};

    fwrite(head, sizeof(head), 1, out);
    fwrite(frame, bytes, 1, out);
    fwrite(&total, sizeof(total), 1, out);
}

static const struct format {
    const char *name;
    uint32_t head[12];
    size_t head_bytes;
    void (*write)(FILE *out, uint64_t time_ns, const uint8_t *frame, uint32_t bytes);
} formats[] = {
    {"pcap", {0xa1b23c4d, 0x00040002, 0, 0, 65535, 1}, 24, write_pcap},
    {"pcapng",
     {0x0a0d0d0a, 28, 0x1a2b3c4d, 1, UINT32_MAX, UINT32_MAX, 28, 1, 20, 1, 0, 20},
     48,
     write_pcapng},
};

static int write_file(const struct format *format, uint32_t bytes)
{
    static uint8_t frame[BYTES_MAX];
    uint64_t time_ns = UINT64_C(1700000000) * PD_NS_PER_S;
    FILE *out = fopen(path, "wb");

    if (!out) {
        return -1;
    }
    srandom(1);
    fwrite(format->head, format->head_bytes, 1, out);
    for (unsigned i = 0; i < PKTS; i++) {
        make_frame(frame, bytes, (uint32_t)random() % FLOWS);
        format->write(out, time_ns, frame, bytes);
        time_ns += STEP_NS;
    }
    return fclose(out);
}

static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- the two readers; each returns packets per second --------------------------------------- */

static bool take(void *context, const struct pd_trajectory_record *record)
{
    *(uint64_t *)context += record->pkts;
    return true;
}

static double run_intake(void)
{
    uint64_t pkts = 0;
    const struct pd_intake_config config = {.trajectory = PD_TRAJECTORY_DEFAULTS, .wake_fd = -1};
    const struct pd_trajectory_sink sink = {&pkts, take, NULL};
    const uint64_t begun_ns = pd_clock_monotonic_ns();
    struct pd_intake *intake;
    struct pd_error error;

    if (pd_intake_open(spec, &config, &sink, &intake, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    while (pd_intake_poll(intake, 0) == 0) {
    }
    pd_intake_close(intake);
    if (pkts != PKTS) {
        fprintf(stderr, "%llu packets in records, %u in the file\n", (unsigned long long)pkts,
                PKTS);
        exit(1);
    }
    return PKTS * 1e9 / (double)(pd_clock_monotonic_ns() - begun_ns);
}

static void count_only(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
    (void)header;
    (void)data;
    ++*(uint64_t *)user;
}

static double run_libpcap(void)
{
    char words[PCAP_ERRBUF_SIZE];
    const uint64_t begun_ns = pd_clock_monotonic_ns();
    uint64_t pkts = 0;
    pcap_t *pcap = pcap_open_offline(path, words);

    if (!pcap || pcap_loop(pcap, -1, count_only, (u_char *)&pkts) != 0 || pkts != PKTS) {
        fprintf(stderr, "libpcap cannot read it\n");
        exit(1);
    }
    pcap_close(pcap);
    return PKTS * 1e9 / (double)(pd_clock_monotonic_ns() - begun_ns);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(values[0]), compare);
    return values[ROUNDS / 2];
}

static int run(const struct format *format, uint32_t bytes)
{
    double intake[ROUNDS], libpcap[ROUNDS], cpu[ROUNDS], a, b;

    if (write_file(format, bytes) != 0) {
        perror(path);
        return 1;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double begun_ns = cpu_ns();

        intake[i] = run_intake();
        cpu[i] = (cpu_ns() - begun_ns) / PKTS;
        libpcap[i] = run_libpcap();
    }
    a = median(intake);
    b = median(libpcap);
    printf("{\"bench\":\"pcap\",\"format\":\"%s\",\"frame_bytes\":%u,\"pkts\":%u,"
           "\"intake_pkts_per_s\":%.0f,\"libpcap_pkts_per_s\":%.0f,\"ratio\":%.2f,\"intake_cpu_ns_"
           "per_pkt\":%.1f}\n",
           format->name, bytes, PKTS, a, b, a / b, median(cpu));
    fflush(stdout);
    return 0;
}

int main(void)
{
    const int fd = mkstemp(path);
    int failed = 0;

    if (fd < 0) {
        perror(path);
        return 1;
    }
    close(fd);
    snprintf(spec, sizeof(spec), "pcap:%s", path);
    for (unsigned i = 0; i < 4 && !failed; i++) {
        failed = run(&formats[i % 2], i / 2 ? 512 : 64);
    }
    unlink(path);
    return failed;
}
