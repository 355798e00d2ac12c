/* SPDX-License-Identifier: Apache-2.0 */
/* Packet logs: files that libpcap reads, the right packets in them with the right paths, and every
 * packet accounted for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "agent/logs/logs.h"
#include "base/clock.h"
#include "packet/tags.h"

#define TIME_NS (UINT64_C(1700000000) * PD_NS_PER_S + 123456789)

static struct {
    char folder[64], file[128];
    struct pd_model *model;
    struct pd_packet_logs *logs;
} fixture;

/* ---- packets ---- */

/* 10.1.1.2 > 10.2.1.2, UDP; tags as after the path from ToR 1 over 9, `core`, 11 to 3. */
static struct pd_packet packet_by(uint32_t core, uint16_t src_port)
{
    const struct pd_path path = {.len = 5, .switches = {1, 9, core, 11, 3}};
    struct pd_packet packet = {.ip_offset = 14, .ip_bytes = 40};
    struct pd_encoding encoding;

    assert_int_equal(
        pd_codec_encode(pd_codec_set_find(&fixture.model->codecs, NULL), &path, &encoding, NULL),
        0);
    pd_addr_parse("10.1.1.2", &packet.flow.src, &packet.flow.ip_version);
    pd_addr_parse("10.2.1.2", &packet.flow.dst, &packet.flow.ip_version);
    packet.flow.src_port = src_port;
    packet.flow.dst_port = 80;
    packet.flow.protocol = 17;
    packet.mark = encoding.mark;
    packet.tags_len = (uint8_t)pd_tags_len(encoding.mark);
    return packet;
}

static void offer(const struct pd_packet *packet, size_t bytes)
{
    const struct pd_intake_tap *tap = pd_log_packet_logs_tap(fixture.logs);
    uint8_t frame[2000];

    for (size_t i = 0; i < bytes; i++) {
        frame[i] = (uint8_t)i;
    }
    if (atomic_load(tap->wanted)) {
        tap->frame(tap->context, packet, frame, bytes, bytes, TIME_NS);
    }
}

/* ---- logs ---- */

static int try_add(const char *body, uint64_t *ret_id)
{
    struct pd_packet_request wanted;
    struct pd_error error = {0};
    json_t *document = json_loads(body, JSON_ALLOW_NUL, NULL);
    int err = pd_log_packet_request_read(document, &wanted, &error);

    assert_non_null(document);
    json_decref(document);
    if (!err) {
        err = pd_log_packet_logs_add(fixture.logs, &wanted, ret_id, &error);
    }
    if (err) {
        assert_true(error.text[0]);
    }
    return err;
}

static uint64_t add(const char *body)
{
    uint64_t id = 0;

    assert_int_equal(try_add(body, &id), 0);
    return id;
}

static uint64_t number(uint64_t id, const char *name)
{
    json_t *rows;
    uint64_t value;

    assert_int_equal(pd_log_packet_logs_rows(fixture.logs, id, &rows), 0);
    value = (uint64_t)json_integer_value(json_object_get(rows, name));
    json_decref(rows);
    return value;
}

static bool finished(uint64_t id)
{
    json_t *rows;
    bool yes;

    assert_int_equal(pd_log_packet_logs_rows(fixture.logs, id, &rows), 0);
    yes = !strcmp(json_string_value(json_object_get(rows, "state")), "finished");
    json_decref(rows);
    return yes;
}

static void wait_until(uint64_t id, const char *name, uint64_t value)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + 60 * PD_NS_PER_S;

    while (number(id, name) < value) {
        assert_true(pd_clock_monotonic_ns() < until_ns);
        usleep(1000);
    }
}

static void wait_finished(uint64_t id)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + 60 * PD_NS_PER_S;

    while (!finished(id)) {
        assert_true(pd_clock_monotonic_ns() < until_ns);
        usleep(1000);
    }
    assert_int_equal(number(id, "offered"), number(id, "packets") + number(id, "other_path") +
                                                number(id, "dropped") + number(id, "too_late"));
}

/* Brings the answer into a file. */
static void save(uint64_t id)
{
    struct pd_answer answer;
    FILE *out = fopen(fixture.file, "w");

    assert_non_null(out);
    pd_http_answer_init(&answer);
    assert_int_equal(pd_log_packet_logs_file(fixture.logs, id, &answer), 0);
    if (answer.fd < 0) {
        assert_int_equal(fwrite(answer.bytes, 1, answer.len, out), answer.len);
    } else {
        char buffer[4096];
        ssize_t n;

        assert_int_equal(pd_http_answer_finish(&answer), 0);
        for (off_t at = 0; (n = pread(answer.fd, buffer, sizeof buffer, at)) > 0; at += n) {
            assert_int_equal(fwrite(buffer, 1, (size_t)n, out), n);
        }
    }
    assert_int_equal(fclose(out), 0);
    pd_http_answer_done(&answer);
}

static bool file_holds(const char *text)
{
    char buffer[1 << 16];
    FILE *in = fopen(fixture.file, "r");
    size_t len = fread(buffer, 1, sizeof buffer, in);

    fclose(in);
    return memmem(buffer, len, text, strlen(text)) != NULL;
}

/* Returns the number of packets; each has to be as offer() makes them. */
static size_t read_back(uint32_t wire, uint32_t snap)
{
    char words[PCAP_ERRBUF_SIZE];
    pcap_t *pcap =
        pcap_open_offline_with_tstamp_precision(fixture.file, PCAP_TSTAMP_PRECISION_NANO, words);
    struct pcap_pkthdr *header;
    const u_char *data;
    size_t n = 0;
    int r;

    assert_non_null(pcap);
    assert_int_equal(pcap_datalink(pcap), DLT_EN10MB);
    while ((r = pcap_next_ex(pcap, &header, &data)) == 1) {
        n++;
        assert_int_equal(header->len, wire);
        assert_int_equal(header->caplen, wire < snap ? wire : snap);
        assert_int_equal(header->ts.tv_sec, TIME_NS / PD_NS_PER_S);
        assert_int_equal(header->ts.tv_usec, TIME_NS % PD_NS_PER_S);
        for (uint32_t i = 0; i < header->caplen; i++) {
            assert_int_equal(data[i], (uint8_t)i);
        }
    }
    assert_int_equal(r, PCAP_ERROR_BREAK);
    pcap_close(pcap);
    return n;
}

/* ---- tests ---- */

static void test_file(void **state)
{
    const struct pd_packet one = packet_by(17, 1000), other = packet_by(18, 2000);
    uint64_t id = add("{\"max_packets\":5,\"snap_bytes\":64}");

    (void)state;
    for (int i = 0; i < 3; i++) {
        offer(&one, 101);
    }
    for (int i = 0; i < 4; i++) {
        offer(&other, 101);
    }
    wait_finished(id);
    assert_int_equal(number(id, "packets"), 5);
    save(id);
    assert_int_equal(read_back(101, 64), 5);
    assert_true(file_holds("path 1,9,17,11,3"));
    assert_true(file_holds("path 1,9,18,11,3"));
    assert_int_equal(pd_log_packet_logs_remove(fixture.logs, id), 0);
    assert_int_equal(pd_log_packet_logs_remove(fixture.logs, id), -PD_E_NOT_FOUND);
    assert_false(atomic_load(pd_log_packet_logs_tap(fixture.logs)->wanted));
}

static void test_filters(void **state)
{
    static const struct {
        const char *body;
        uint64_t offered, packets;
    } cases[] = {
        {"{\"link\":\"9-17\"}", 3, 1},
        {"{\"link\":\"*-11\"}", 3, 2},
        {"{\"path\":\"1,9,18,11,3\"}", 3, 1},
        {"{\"src_port\":1000}", 1, 1},
        {"{\"src_port\":\"1001\",\"link\":\"9-17\"}", 1, 0},
        {"{\"protocol\":\"udp\",\"dst_ip\":\"10.2.1.2\"}", 3, 3},
        {"{\"dst_ip\":\"10.2.1.3\"}", 0, 0},
    };
    struct pd_packet packets[] = {packet_by(17, 1000), packet_by(18, 1001), packet_by(17, 1002)};

    (void)state;
    packets[2].mark = pd_tags_push(0, 4000); /* fits no path */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t id = add(cases[i].body);

        for (size_t j = 0; j < 3; j++) {
            offer(&packets[j], 60);
        }
        assert_int_equal(number(id, "offered"), cases[i].offered);
        wait_until(id, "packets", cases[i].packets);
        wait_until(id, "other_path", cases[i].offered - cases[i].packets);
        assert_int_equal(number(id, "packets"), cases[i].packets);
        assert_int_equal(number(id, "dropped"), 0);
        assert_int_equal(pd_log_packet_logs_remove(fixture.logs, id), 0);
    }
}

static void test_no_path(void **state)
{
    struct pd_packet packet = packet_by(17, 1000);
    uint64_t id = add("{\"max_packets\":1}");
    json_t *rows, *row;

    (void)state;
    packet.mark = pd_tags_push(0, 4000);
    packet.tags_len = 1;
    offer(&packet, 60);
    wait_finished(id);
    save(id);
    assert_true(file_holds("no path of the topology; tags 4000"));
    assert_int_equal(pd_log_packet_logs_rows(fixture.logs, id, &rows), 0);
    row = json_array_get(json_object_get(rows, "rows"), 0);
    assert_int_equal(json_array_size(json_object_get(row, "path")), 0);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(row, "tags"), 0)), 4000);
    assert_int_equal(json_integer_value(json_object_get(row, "time_us")), TIME_NS / PD_NS_PER_US);
    json_decref(rows);
    pd_log_packet_logs_remove(fixture.logs, id);
}

static void test_time_is_over(void **state)
{
    uint64_t id = add("{\"seconds\":1}");
    json_t *list;

    (void)state;
    wait_finished(id);
    list = pd_log_packet_logs_list(fixture.logs);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(list, "logs"), 0), "reason")),
                        "its time is over");
    json_decref(list);
    save(id);
    assert_int_equal(read_back(1, 1), 0); /* a file without packets */
    pd_log_packet_logs_remove(fixture.logs, id);
}

static void test_bad_wishes(void **state)
{
    static const char *const bad[] = {
        "{\"seconds\":0}",
        "{\"seconds\":3601}",
        "{\"seconds\":\"1\"}",
        "{\"seconds\":1.5}",
        "{\"max_packets\":0}",
        "{\"max_packets\":1.5}",
        "{\"max_packets\":\"5\"}",
        "{\"max_packets\":1000001}",
        "{\"snap_bytes\":63}",
        "{\"snap_bytes\":65536}",
        "{\"snap_bytes\":-1}",
        "{\"id\":0}",
        "{\"id\":-5}",
        "{\"link\":\"9\"}",
        "{\"link\":17}",
        "{\"src_ip\":\"house\"}",
        "{\"src_port\":65536}",
        "{\"path\":[1,2]}",
        "{\"path\":\"\"}",
        "{\"from\":\"1\"}",
        "{\"since\":\"x\"}",
        "{\"live\":\"true\"}",
        "{\"k\":1}",
        "{\"file\":\"/etc/x\"}",
        "{\"src_ip\":null}",
        "{\"src_ip\":\"1.2.3.4\\u00005\"}",
    };
    uint64_t id;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (!try_add(bad[i], &id)) {
            fail_msg("taken: %s", bad[i]);
        }
    }
}

static void test_list_is_bounded(void **state)
{
    uint64_t ids[PD_PACKET_LOGS_MAX], id;
    const struct pd_packet packet = packet_by(17, 1000);

    (void)state;
    assert_int_equal(try_add("{\"id\":77}", &ids[0]), 0);
    assert_int_equal(ids[0], 77);
    assert_int_equal(try_add("{\"id\":77}", &id), -PD_E_CONFLICT);
    for (int i = 1; i < PD_PACKET_LOGS_MAX; i++) {
        ids[i] = add(i == 1 ? "{\"max_packets\":1}" : "{}");
    }
    assert_int_equal(try_add("{}", &id), -PD_E_TOO_MANY);
    offer(&packet, 60);
    wait_finished(ids[1]);
    id = add("{}"); /* takes the place of the one that has finished */
    assert_int_equal(pd_log_packet_logs_remove(fixture.logs, ids[1]), -PD_E_NOT_FOUND);
    ids[1] = id;
    for (int i = 0; i < PD_PACKET_LOGS_MAX; i++) {
        assert_int_equal(pd_log_packet_logs_remove(fixture.logs, ids[i]), 0);
    }
}

/* One thread offers, as the intake does, while logs come and go; none loses count. */
static atomic_bool over;

static void *offer_many(void *context)
{
    const struct pd_packet *packets = context;

    for (unsigned i = 0; !atomic_load(&over); i++) {
        offer(&packets[i % 2], 200);
    }
    return NULL;
}

static void test_while_packets_come(void **state)
{
    struct pd_packet packets[] = {packet_by(17, 1000), packet_by(18, 1001)};
    pthread_t thread;

    (void)state;
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, offer_many, packets), 0);
    for (int i = 0; i < 20; i++) {
        uint64_t id =
            add(i % 2 ? "{\"max_packets\":300}" : "{\"link\":\"9-18\",\"max_packets\":50}");

        if (i % 4 == 3) {
            wait_until(id, "packets", 1); /* removed while it runs */
        } else {
            wait_until(id, "packets", i % 2 ? 300 : 50);
        }
        save(id);
        read_back(200, 256);
        assert_int_equal(pd_log_packet_logs_remove(fixture.logs, id), 0);
    }
    uint64_t id = add("{\"max_packets\":1000}");
    wait_until(id, "packets", 1000);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    wait_finished(id);
    save(id);
    assert_int_equal(read_back(200, 256), 1000);
    pd_log_packet_logs_remove(fixture.logs, id);
}

/* ---- frame ---- */

static int set_up(void **state)
{
    struct pd_topology *topology;
    struct pd_error error = {0};
    FILE *out;

    (void)state;
    snprintf(fixture.folder, sizeof fixture.folder, "%s", "/tmp/pathdump-logs-XXXXXX");
    if (!mkdtemp(fixture.folder) || pd_topology_fat_tree(4, &topology, &error)) {
        return -1;
    }
    snprintf(fixture.file, sizeof fixture.file, "%s/topology.json", fixture.folder);
    out = fopen(fixture.file, "w");
    if (!out || pd_topology_write(topology, out) || fclose(out)) {
        return -1;
    }
    pd_topology_free(topology);
    if (pd_agent_model_load(fixture.file, &fixture.model, &error) ||
        pd_log_packet_logs_new(fixture.folder, &fixture.logs)) {
        return -1;
    }
    pd_log_packet_logs_model(fixture.logs, fixture.model);
    unlink(fixture.file);
    snprintf(fixture.file, sizeof fixture.file, "%s/log.pcapng", fixture.folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pd_log_packet_logs_free(fixture.logs);
    pd_agent_model_free(fixture.model);
    unlink(fixture.file);
    return rmdir(fixture.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_no_path),
        cmocka_unit_test(test_time_is_over),
        cmocka_unit_test(test_bad_wishes),
        cmocka_unit_test(test_list_is_bounded),
        cmocka_unit_test(test_while_packets_come),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
