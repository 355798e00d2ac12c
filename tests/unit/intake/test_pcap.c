/* SPDX-License-Identifier: Apache-2.0 */
/* The intake of capture files: the suite, and files that are cut, corrupt,
 * hostile or no captures. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance.h"

static char folder[] = "/tmp/pd-test-pcap-XXXXXX";
static char path[64], spec[80];

typedef size_t write_file(const struct traffic *traffic, const char *to);

static struct pd_intake *open_written(void *context, const struct traffic *traffic,
                                      const struct pd_intake_config *config,
                                      const struct pd_trajectory_sink *sink)
{
    write_file *write_traffic = *(write_file **)context;
    struct pd_intake *intake = NULL;
    struct pd_error error = {0};

    write_traffic(traffic, path);
    if (pd_intake_open(spec, config, sink, &intake, &error) < 0) {
        fail_msg("%s", error.text);
    }
    return intake;
}

static void test_conformance(void **state)
{
    static write_file *const formats[] = {traffic_write_pcap, traffic_write_pcapng};
    static const char *const names[] = {"pcap", "pcapng"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const struct feeder feeder = {names[i], true, (void *)&formats[i], open_written};

        conformance_run(&feeder);
    }
}

/* ---- helpers
 * -----------------------------------------------------------------------------------
 */

/* Runs the file to its end; returns what the last poll said. */
static int run_file(struct collected *collected, struct pd_intake_status *ret_status)
{
    const struct traffic plain = {0};
    struct pd_intake_config config = conformance_config(&plain);
    const struct pd_trajectory_sink sink = conformance_sink(collected);
    struct pd_intake *intake = NULL;
    struct pd_error error = {0};
    int r;

    config.trajectory.max_records = 1024; /* thousands of files are opened here */
    r = pd_intake_open(spec, &config, &sink, &intake, &error);

    if (r < 0) {
        assert_int_equal(error.code, r);
        assert_null(intake);
        assert_null(strchr(error.text, '\n'));
        snprintf(ret_status->detail, sizeof(ret_status->detail), "%.190s", error.text);
        return r;
    }
    r = conformance_poll(intake, UINT64_MAX);
    assert_int_equal(pd_intake_poll(intake, 0), r); /* it stays over */
    pd_intake_status(intake, ret_status);
    assert_int_equal(ret_status->live_records, 0); /* all was given to the sink by itself */
    pd_intake_close(intake);
    return r;
}

static void write_bytes(const void *bytes, size_t n)
{
    FILE *out;

    /* file systems write a file to disk at once that is cut to nothing and written anew */
    unlink(path);
    out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static void *read_bytes(size_t n)
{
    FILE *in = fopen(path, "rb");
    void *bytes = malloc(n);

    assert_non_null(in);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, n, in), n);
    fclose(in);
    return bytes;
}

static void expect_refused(int err, const char *words)
{
    struct collected collected = {0};
    struct pd_intake_status status;

    assert_int_equal(run_file(&collected, &status), err);
    if (!strstr(status.detail, words)) {
        fail_msg("'%s' is not in '%s'", words, status.detail);
    }
}

/* ---- cut files
 * ---------------------------------------------------------------------------------
 */

/* Cut at every byte: the frames before the cut are stored and the cut is told;
 * a cut between two records is no cut. */
static void cut_everywhere(write_file *write_traffic, size_t head_bytes, size_t frame_head_bytes,
                           size_t alignment, size_t frame_tail_bytes)
{
    struct pd_intake_status status;
    struct traffic traffic;

    traffic_make(&traffic, 7, 5, false);

    const size_t whole_bytes = write_traffic(&traffic, path);
    void *bytes = read_bytes(whole_bytes);
    size_t frames = 0, next = head_bytes;

    for (size_t cut = 0; cut <= whole_bytes; cut++) {
        struct collected collected = {0};
        const bool at_border = cut == next;

        if (at_border && cut > head_bytes) {
            frames++;
        }
        if (at_border && frames < traffic.len) {
            const size_t n = traffic.frames[frames].bytes;

            next +=
                frame_head_bytes + (n + alignment - 1) / alignment * alignment + frame_tail_bytes;
        }
        write_bytes(bytes, cut);

        const int r = run_file(&collected, &status);

        if (cut < head_bytes) {
            assert_int_equal(r, -PD_E_SYNTAX);
            continue;
        }
        assert_int_equal(r, at_border ? -PD_E_EOF : -PD_E_TRUNCATED);
        assert_int_equal(status.state, PD_INTAKE_FINISHED);
        assert_int_equal(status.frames, frames);
        assert_int_equal(collected.pkts, frames);
        assert_true(at_border ? status.detail[0] == '\0' : !!strstr(status.detail, "cut"));
    }
    assert_int_equal(frames, traffic.len);
    free(bytes);
    traffic_free(&traffic);
}

static void test_cut_pcap(void **state)
{
    (void)state;
    cut_everywhere(traffic_write_pcap, 24, 16, 1, 0);
}

static void test_cut_pcapng(void **state)
{
    (void)state;
    cut_everywhere(traffic_write_pcapng, 28 + 32, 28, 4, 4);
}

/* ---- corrupt and hostile files
 * ----------------------------------------------------------------- */

/* The third record says that it is 1 GB long: two frames are stored, then the
 * file has failed. */
static void test_corrupt(void **state)
{
    struct collected collected = {0};
    struct pd_intake_status status;
    struct traffic traffic;

    (void)state;
    traffic_make(&traffic, 11, 5, false);

    const size_t whole_bytes = traffic_write_pcap(&traffic, path);
    uint8_t *bytes = read_bytes(whole_bytes);
    const size_t third = 24 + 2 * 16 + traffic.frames[0].bytes + traffic.frames[1].bytes;

    memcpy(bytes + third + 8, &(uint32_t){1 << 30}, 4);
    write_bytes(bytes, whole_bytes);
    assert_int_equal(run_file(&collected, &status), -PD_E_CORRUPT);
    assert_int_equal(status.state, PD_INTAKE_FAILED);
    assert_non_null(strstr(status.detail, "after 2 frames"));
    assert_int_equal(collected.pkts, 2);
    free(bytes);
    traffic_free(&traffic);
}

/* A record of an interface that the pcapng file never named. */
static void test_corrupt_pcapng(void **state)
{
    struct collected collected = {0};
    struct pd_intake_status status;
    struct traffic traffic;

    (void)state;
    traffic_make(&traffic, 12, 3, false);

    const size_t whole_bytes = traffic_write_pcapng(&traffic, path);
    uint8_t *bytes = read_bytes(whole_bytes);

    bytes[28 + 32 + 8] = 9;
    write_bytes(bytes, whole_bytes);
    assert_int_equal(run_file(&collected, &status), -PD_E_CORRUPT);
    assert_int_equal(collected.pkts, 0);
    free(bytes);
    traffic_free(&traffic);
}

/* Times of any size: sums stay exact, times stay below 2^53 us. */
static void test_hostile_times(void **state)
{
    static const uint32_t seconds[] = {0, 1, UINT32_MAX, 0x7fffffff, 0x80000000};
    struct collected collected = {0};
    struct pd_intake_status status;
    struct traffic traffic;

    (void)state;
    traffic_make(&traffic, 13, 500, false);

    const size_t whole_bytes = traffic_write_pcap(&traffic, path);
    uint8_t *bytes = read_bytes(whole_bytes);
    size_t at = 24;

    for (size_t i = 0; i < traffic.len; i++) {
        const uint32_t nanoseconds = (uint32_t)random() * 2U;

        memcpy(bytes + at, &seconds[random() % 5], 4);
        memcpy(bytes + at + 4, &nanoseconds, 4);
        at += 16U + traffic.frames[i].bytes;
    }
    write_bytes(bytes, whole_bytes);
    assert_int_equal(run_file(&collected, &status), -PD_E_EOF);
    sums_assert_equal(&collected.sums, &traffic.expected);
    assert_true(collected.last_ns < (UINT64_C(1) << 53) * 1000);
    free(bytes);
    traffic_free(&traffic);
}

/* ---- time
 * --------------------------------------------------------------------------------------
 */

/* A gap in packet time of more than the idle timeout ends the slice, though the
 * file is read in no time. */
static void test_packet_time_ends_slices(void **state)
{
    struct collected collected = {0};
    struct pd_intake_status status;
    struct traffic traffic;

    (void)state;
    traffic_make(&traffic, 17, 1, false);
    traffic.frames = realloc(traffic.frames, 4 * sizeof(*traffic.frames));
    assert_non_null(traffic.frames);
    for (size_t i = 1; i < 4; i++) {
        traffic.frames[i] = traffic.frames[0];
        traffic.frames[i].time_ns += i < 2 ? 4000000000U : 10000000000U;
    }
    traffic.len = 4;
    traffic_write_pcap(&traffic, path);
    assert_int_equal(run_file(&collected, &status), -PD_E_EOF);
    assert_int_equal(collected.pkts, 4);
    assert_int_equal(collected.records, 2);
    traffic_free(&traffic);
}

/* ---- no captures
 * -------------------------------------------------------------------------------
 */

static void test_not_a_capture(void **state)
{
    (void)state;
    unlink(path);
    expect_refused(-ENOENT, "No such file");
    write_bytes("", 0);
    expect_refused(-PD_E_SYNTAX, "empty");
    write_bytes("This is no capture file, but a letter.\n", 39);
    expect_refused(-PD_E_SYNTAX, "not a whole pcap");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refused(-EISDIR, "directory");
    assert_int_equal(rmdir(path), 0);
}

static void test_unreadable(void **state)
{
    (void)state;
    if (geteuid() == 0) { /* root reads everything */
        skip();
    }
    write_bytes("", 0);
    chmod(path, 0);
    expect_refused(-EACCES, "Permission denied");
}

static void test_other_link_types(void **state)
{
    static const struct {
        uint32_t type;
        const char *words;
    } types[] = {{101, "RAW"}, {113, "LINUX_SLL"}, {147, "147"}};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const uint32_t head[] = {0xa1b2c3d4, 0x00040002, 0, 0, 65535, types[i].type};

        write_bytes(head, sizeof(head));
        expect_refused(-PD_E_UNSUPPORTED, types[i].words);
    }
}

static void test_specs(void **state)
{
    static const char *const bad[] = {"", "pcap", "pcap:", "live:", "tape:x", "pca:x", ":x"};
    const struct traffic plain = {0};
    const struct pd_intake_config config = conformance_config(&plain);
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct pd_intake *intake = NULL;
        struct pd_error error = {0};

        assert_int_equal(pd_intake_open(bad[i], &config, &sink, &intake, &error), -PD_E_VALUE);
        assert_true(strlen(error.text) > 0);
        assert_null(intake);
    }
    assert_string_equal(pd_intake_state_id(PD_INTAKE_RUNNING), "running");
    assert_string_equal(pd_intake_state_id(PD_INTAKE_FINISHED), "finished");
}

/* ---- pipes
 * -------------------------------------------------------------------------------------
 */

/* What is in the pipe is counted while its writer keeps it open, and poll
 * returns when nothing comes. */
static void test_fifo(void **state)
{
    const struct pd_intake_config *config;
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    struct pd_intake_status status;
    struct pd_intake *intake = NULL;
    struct traffic traffic;

    (void)state;
    traffic_make(&traffic, 19, 20, false);
    config = &(struct pd_intake_config){.trajectory = PD_TRAJECTORY_DEFAULTS, .wake_fd = -1};

    const size_t bytes_len = traffic_write_pcap(&traffic, path);
    void *bytes = read_bytes(bytes_len);

    assert_true(bytes_len < 65536);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);

    const int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, bytes_len), bytes_len);
    assert_int_equal(pd_intake_open(spec, config, &sink, &intake, NULL), 0);
    assert_int_equal(conformance_poll(intake, traffic.len), 0);
    pd_intake_status(intake, &status);
    assert_int_equal(status.frames, traffic.len);
    assert_int_equal(pd_intake_poll(intake, 1), 0);
    close(fd);
    assert_int_equal(conformance_poll(intake, UINT64_MAX), -PD_E_EOF);
    sums_assert_equal(&collected.sums, &traffic.expected);
    pd_intake_close(intake);
    unlink(path);
    free(bytes);
    traffic_free(&traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conformance),
        cmocka_unit_test(test_cut_pcap),
        cmocka_unit_test(test_cut_pcapng),
        cmocka_unit_test(test_corrupt),
        cmocka_unit_test(test_corrupt_pcapng),
        cmocka_unit_test(test_hostile_times),
        cmocka_unit_test(test_packet_time_ends_slices),
        cmocka_unit_test(test_not_a_capture),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_other_link_types),
        cmocka_unit_test(test_specs),
        cmocka_unit_test(test_fifo),
    };
    int failed;

    if (!mkdtemp(folder)) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/in", folder);
    snprintf(spec, sizeof(spec), "pcap:%s", path);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed;
}
