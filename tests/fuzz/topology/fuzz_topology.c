/* SPDX-License-Identifier: Apache-2.0 */
/* Topology files of any bytes: what is read is written and read again, and the same; its codec
 * keeps its promises. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/tagging/tagging.h"
#include "topology/links.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static char *write_text(const struct pd_topology *topology, size_t *ret_bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_bytes);
    need(out != NULL);
    need(pd_topology_write(topology, out) == 0);
    fclose(out);
    return text;
}

static void check_round_trip(const struct pd_topology *topology)
{
    struct pd_topology *again = NULL;
    size_t bytes[2];
    char *texts[2];
    texts[0] = write_text(topology, &bytes[0]);
    need(pd_topology_parse(texts[0], bytes[0], "written", &again, NULL) == 0);
    texts[1] = write_text(again, &bytes[1]);
    need(bytes[0] == bytes[1] && !memcmp(texts[0], texts[1], bytes[0]));
    free(texts[0]);
    free(texts[1]);
    pd_topology_free(again);
}

/* It is the switch's, or, of those that share it, the host's that has the first address. */
static void check_prefix(const struct pd_topology *topology, uint32_t sw,
                         const struct pd_prefix *prefix)
{
    uint32_t tors[PD_HOMES_MAX];
    uint32_t len = pd_topology_tors_of(topology, &prefix->addr, prefix->ip_version, tors);
    uint32_t first = pd_topology_tor_of(topology, &prefix->addr, prefix->ip_version);
    need(len >= 1 && len <= PD_HOMES_MAX && first <= sw);
    for (uint32_t i = 0; i < len; i++) {
        need(tors[i] < topology->switches_len && (!i || tors[i] > tors[i - 1]));
    }
}

static void check_links(const struct pd_topology *topology)
{
    for (uint32_t d = 0; d < pd_links_directed(topology); d++) {
        char text[PD_LINKS_TEXT_BYTES];
        uint32_t first, len;
        need(pd_topology_links_parse(topology, pd_topology_links_format(topology, d, text), &first,
                                     &len) == 0);
        need(first == d && len == 1);
        need(pd_topology_links_pair(topology, d) ==
             pd_topology_links_by_ids(topology, pd_topology_links_from_id(topology, d),
                                      pd_topology_links_to_id(topology, d), NULL));
    }
}

static void check_lookups(const struct pd_topology *topology)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const struct pd_switch *sw = &topology->switches[i];
        need(pd_topology_switch(topology, sw->id) == i);
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            need(pd_topology_link(topology, i, sw->neighbours[n].node) == &sw->neighbours[n]);
            need(pd_topology_links_between(topology, i, sw->neighbours[n].node, NULL) ==
                 sw->neighbours[n].link);
        }
        for (uint32_t p = 0; p < sw->prefixes_len; p++) {
            check_prefix(topology, i, &sw->prefixes[p]);
        }
    }
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        need(pd_topology_host(topology, topology->hosts[i].id) == i);
    }
}

/* The last bytes of the input are tags; a path that they decode to must get them. */
static void check_decoding(const struct pd_codec *codec, const uint8_t *bytes, size_t len)
{
    struct pd_tags tags = {.len = 0};
    struct pd_path path;
    struct pd_encoding encoding;
    uint32_t switches = codec->topology->switches_len;
    if (len < 8) {
        return;
    }
    bytes += len - 8;
    tags.len = bytes[0] % 4;
    tags.dscp = bytes[1];
    for (unsigned i = 0; i < 2; i++) {
        tags.vids[i] = (uint16_t)(bytes[2 + i] | bytes[4 + i] << 8);
    }
    for (uint32_t tor = 0; tor < switches && tor < 64; tor++) {
        uint32_t src = bytes[6] % switches;
        if (!pd_topology_role_is_tor(codec->topology->switches[src].role) ||
            !pd_topology_role_is_tor(codec->topology->switches[tor].role) ||
            pd_codec_decode(codec, src, tor, pd_tags_pack(&tags), &path, NULL)) {
            continue;
        }
        need(pd_codec_encode(codec, &path, &encoding, NULL) == 0);
        need(!encoding.punted && encoding.mark == (pd_tags_pack(&tags) & codec->mark_bits));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct pd_topology *topology = NULL;
    struct pd_codec *codec = NULL;
    struct pd_error error = {0};
    if (pd_topology_parse((const char *)bytes, len, "input", &topology, &error)) {
        need(topology == NULL && error.code != 0 && !strncmp(error.text, "input: ", 7));
        return 0;
    }
    check_round_trip(topology);
    check_lookups(topology);
    check_links(topology);
    if (!pd_codec_new(topology, &codec, &error)) {
        check_decoding(codec, bytes, len);
    }
    pd_codec_free(codec);
    pd_topology_free(topology);
    return 0;
}
