/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of path filters, executed as a switch would, do what the reference encoder does; and filters
 * are found on frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/openflow.h"
#include "codec/path_bloom/path_bloom.h"
#include "packet/filter.h"
#include "topology/links.h"

struct frame {
    uint16_t in_port;
    struct pd_addr dst; /* IPv4 */
    bool marked;
    uint32_t filter;
};

static bool within(const struct pd_prefix *prefix, const struct pd_addr *addr)
{
    for (unsigned bit = 0; bit < prefix->bits; bit++) {
        if ((prefix->addr.bytes[bit / 8] ^ addr->bytes[bit / 8]) & 0x80 >> bit % 8) {
            return false;
        }
    }
    return true;
}

static bool matches(const struct pd_codec_row *row, const struct frame *frame)
{
    return (!row->family || row->family == 4) &&
           (!row->in_port || row->in_port == frame->in_port) &&
           (row->depth == PD_ROW_ANY || row->depth == frame->marked) &&
           (!row->dst.ip_version || within(&row->dst, &frame->dst));
}

static void execute(const struct pd_codec_rows *rows, struct frame *frame)
{
    const unsigned bits = rows->turn_bits;
    size_t at = 0;

    while (at < rows->len && !matches(&rows->rows[at], frame)) {
        at++;
    }
    assert_true(at < rows->len);
    const struct pd_codec_row *row = &rows->rows[at];
    if (row->action == PD_ROW_BEGIN) {
        frame->filter = row->value;
        frame->marked = true;
    } else if (row->action == PD_ROW_ADD) {
        uint64_t held = frame->filter;
        held = bits ? (held << 1 | held >> (bits - 1)) & ((UINT64_C(1) << bits) - 1) : held;
        frame->filter = (uint32_t)held | row->value;
    } else {
        assert_int_equal(row->action, PD_ROW_PASS);
    }
}

/* The frame of a host of the first rack of the path, to one of the last. */
static struct frame carry(const struct pd_codec *codec, const struct pd_path *path)
{
    const struct pd_topology *topology = codec->topology;
    struct frame frame = {.in_port = 60000};

    for (uint32_t i = 0; i < path->len; i++) {
        const uint32_t sw = pd_topology_switch(topology, path->switches[i]);
        struct pd_codec_rows rows;

        if (!i) {
            const uint32_t dst = pd_topology_switch(topology, path->switches[path->len - 1]);
            frame.dst = topology->switches[dst].prefixes[0].addr;
            frame.dst.bytes[3] = 2;
        } else {
            const uint32_t from = pd_topology_switch(topology, path->switches[i - 1]);
            frame.in_port = pd_topology_link(topology, sw, from)->port;
        }
        assert_int_equal(pd_codec_rows_make(codec, sw, PD_DEPTH_PLAIN, &rows), 0);
        execute(&rows, &frame);
        pd_codec_rows_done(&rows);
    }
    return frame;
}

static void rows_do_what_the_encoder_does(void **state)
{
    static const char *const options[] = {"{}", "{\"order\":true,\"bits\":15}",
                                          "{\"monitors\":\"tor+top\",\"carrier\":\"vlan\"}"};
    static const struct pd_path paths[] = {
        {.len = 5, .switches = {1, 9, 17, 11, 3}},
        {.len = 3, .switches = {1, 10, 2}},
        {.len = 7, .switches = {1, 9, 17, 13, 18, 11, 3}},
        {.len = 7, .switches = {1, 9, 2, 10, 19, 12, 4}},
        {.len = 1, .switches = {1}},
    };
    struct pd_topology *topology;

    (void)state;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct pd_codec *codec;
        assert_int_equal(pd_codec_new_with(topology, "path-bloom", options[i], &codec, NULL), 0);
        for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
            const struct frame frame = carry(codec, &paths[p]);
            struct pd_encoding encoding;
            assert_int_equal(pd_codec_encode(codec, &paths[p], &encoding, NULL), 0);
            assert_int_equal(frame.filter, (uint32_t)encoding.mark);
            assert_true(frame.marked == !!encoding.mark || !frame.filter);
        }
        pd_codec_free(codec);
    }
    pd_topology_free(topology);
}

/* ---- OpenFlow ---- */

static int write_openflow(const char *options, uint32_t id, char **ret_text)
{
    struct pd_topology *topology;
    struct pd_codec *codec;
    size_t bytes;
    FILE *out = open_memstream(ret_text, &bytes);

    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    assert_int_equal(pd_codec_new_with(topology, "path-bloom", options, &codec, NULL), 0);
    const int err =
        pd_codec_openflow_write(codec, pd_topology_switch(topology, id), PD_DEPTH_PLAIN, out);
    fclose(out);
    pd_codec_free(codec);
    pd_topology_free(topology);
    return err;
}

/* h(9) = 8 and 3 of 15 bits: those of the VLAN ID; see the oracle of test_path_bloom.c. */
static void one_tag_is_written_by_openflow(void **state)
{
    char *text = NULL;

    (void)state;
    assert_int_equal(write_openflow("{\"carrier\":\"vlan\",\"hashes\":2}", 9, &text), 0);
    assert_non_null(strstr(text, "load:1->NXM_OF_VLAN_TCI["));
    assert_null(strstr(text, "push_vlan"));
    free(text);
    assert_int_equal(write_openflow("{\"carrier\":\"vlan\",\"hashes\":2}", 1, &text), 0);
    assert_non_null(strstr(text, "push_vlan:0x8100,set_field:"));
    free(text);
    for (unsigned i = 0; i < 3; i++) {
        static const char *const no[] = {"{}", "{\"carrier\":\"vlan2\"}",
                                         "{\"carrier\":\"vlan\",\"order\":true}"};
        assert_int_equal(write_openflow(no[i], 9, &text), -PD_E_UNSUPPORTED);
        free(text);
    }
}

/* ---- frames ---- */

#define IPV4_UDP                                                                                \
    0x08, 0x00, 0x45, 0, 0, 44, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 1, 2, 10, 2, 1, 2, 0x30, 0x39, \
        0x12, 0xb5, 0, 24, 0, 0
#define MACS 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2
#define TAIL 0, 0, 0, 0, 0, 0, 0, 0

static uint64_t read_frame(const uint8_t *frame, size_t len, pd_packet_mark_reader *read)
{
    struct pd_packet packet;
    assert_int_equal(pd_packet_parse(frame, len, 1500, &packet), PD_PACKET_OK);
    return read(frame, len, &packet);
}

static void filters_are_found_on_frames(void **state)
{
    static const uint8_t vxlan[] = {MACS, IPV4_UDP, 0x08, 0x12, 0x34, 0x56, 0, 0, 77, 0x78, TAIL};
    static const uint8_t other[] = {MACS, IPV4_UDP, 0, 0x12, 0x34, 0x56, 0, 0, 77, 0x78, TAIL};
    static const uint8_t one[] = {MACS, 0x81, 0, 0xb2, 0x34, IPV4_UDP, TAIL, TAIL};
    static const uint8_t two[] = {MACS, 0x81, 0,    0xff,     0xfe, 0x81,
                                  0,    0x56, 0x78, IPV4_UDP, TAIL, TAIL};
    const uint64_t bad = PD_FILTER_PRESENT | PD_FILTER_MALFORMED;

    (void)state;
    assert_int_equal(read_frame(vxlan, sizeof vxlan, pd_packet_filter_read_vxlan),
                     PD_FILTER_PRESENT | 0x12345678);
    assert_int_equal(read_frame(vxlan, sizeof vxlan - 9, pd_packet_filter_read_vxlan), 0);
    assert_int_equal(read_frame(other, sizeof other, pd_packet_filter_read_vxlan), 0);
    assert_int_equal(read_frame(one, sizeof one, pd_packet_filter_read_vlan),
                     PD_FILTER_PRESENT | 0x5234);
    assert_int_equal(read_frame(one, sizeof one, pd_packet_filter_read_vlan2), bad);
    assert_int_equal(read_frame(two, sizeof two, pd_packet_filter_read_vlan2),
                     PD_FILTER_PRESENT | 0xfffe5678);
    assert_int_equal(read_frame(two, sizeof two, pd_packet_filter_read_vlan), bad);
    assert_int_equal(read_frame(vxlan, sizeof vxlan, pd_packet_filter_read_vlan), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_do_what_the_encoder_does),
        cmocka_unit_test(one_tag_is_written_by_openflow),
        cmocka_unit_test(filters_are_found_on_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
