/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump codec …`: verifies a topology's codec, encodes and decodes by hand, prints rules. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/pint.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "codec/openflow.h"
#include "codec/verify.h"
#include "packet/tags.h"

struct end {
    struct pd_addr addr;
    uint8_t ip_version;
    char text[PD_ADDR_TEXT_BYTES];
};

struct settings {
    const char *topology;
    uint64_t max_hops;
    uint64_t dscp;
    uint64_t sw;
    struct end src;
    struct end dst;
    struct pd_path path;
    struct pd_tags tags;
    enum pd_depth depth;
    bool json;
};

/* ---- options ---- */

static int set_end(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    struct end *end = strcmp(name, "src") ? &set->dst : &set->src;
    if (pd_addr_parse(value, &end->addr, &end->ip_version)) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects an IPv4 or IPv6 address, not \"%.100s\"",
                       name, value);
    }
    pd_addr_format(&end->addr, end->ip_version, end->text);
    return 0;
}

static int set_path(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    if (pd_path_parse(value, &set->path)) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: expects 1 to %d switch IDs as in 1,9,17, not \"%.100s\"", name,
                       PD_PATH_MAX, value);
    }
    return 0;
}

/* One tag of a list and the comma behind it, if another one follows. */
static bool take_tag(const char **at, struct pd_tags *tags)
{
    char *end;
    unsigned long tag = strtoul(*at, &end, 10);
    if (**at < '0' || **at > '9' || tag > 4095 || tags->len == PD_TAGS_MAX) {
        return false;
    }
    if (*end && (*end != ',' || !end[1])) {
        return false;
    }
    tags->vids[tags->len++] = (uint16_t)tag;
    *at = end + (*end == ',');
    return true;
}

/* "9,14"; nothing at all is no tag. */
static int set_tags(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    struct pd_tags tags = {.len = 0};
    for (const char *at = value; *at;) {
        if (!take_tag(&at, &tags)) {
            return pd_fail(error, -PD_E_VALUE,
                           "%s: expects at most %d tags from 0 to 4095, as in 9,14, not \"%.100s\"",
                           name, PD_TAGS_MAX, value);
        }
    }
    set->tags = tags;
    return 0;
}

static int set_depth(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    if (strcmp(value, "pcp") && strcmp(value, "plain")) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects pcp or plain, not \"%.100s\"", name, value);
    }
    set->depth = strcmp(value, "pcp") ? PD_DEPTH_PLAIN : PD_DEPTH_PCP;
    return 0;
}

#define OPTION_TOPOLOGY                                                            \
    {                                                                              \
        .name = "topology", .type = PD_OPTION_STRING, .value = "FILE",             \
        .offset = offsetof(struct settings, topology), .help = "the topology file" \
    }
#define OPTION_JSON                                                                        \
    {                                                                                      \
        .name = "json", .type = PD_OPTION_FLAG, .offset = offsetof(struct settings, json), \
        .help = "print one JSON object, for programs"                                      \
    }
#define OPTION_END(id, text)                                                                \
    {                                                                                       \
        .name = id, .type = PD_OPTION_CALLBACK, .value = "IP", .set = set_end, .help = text \
    }
/* What encode and decode begin with. */
#define OPTIONS_ENDS                                                    \
    OPTION_TOPOLOGY, OPTION_END("src", "source address of the packet"), \
        OPTION_END("dst", "destination address")

/* ---- what the commands share ---- */

/* Opens the codec of the topology, does the command's work with it, and closes both. */
static int with_codec(const struct settings *set, struct pd_error *error,
                      int (*work)(const struct settings *set, const struct pd_codec *codec,
                                  struct pd_error *error))
{
    struct pd_topology *topology = NULL;
    struct pd_codec *codec = NULL;
    int code = pd_topology_read(set->topology, &topology, error);
    if (code) {
        return code;
    }
    code = pd_codec_new(topology, &codec, error);
    if (code) {
        pd_fail_within(error, set->topology);
    } else {
        code = work(set, codec, error);
    }
    pd_codec_free(codec);
    pd_topology_free(topology);
    return code;
}

/* The switches that the address may lie behind, as indexes: several for a host with links to them.
 */
static int find_tors(const struct settings *set, const struct pd_topology *topology,
                     const char *flag, const struct end *end, uint32_t ret_tors[PD_HOMES_MAX],
                     uint32_t *ret_len, struct pd_error *error)
{
    *ret_len = pd_topology_tors_of(topology, &end->addr, end->ip_version, ret_tors);
    return *ret_len ? 0
                    : pd_fail(error, -PD_E_UNKNOWN_HOST, "--%s: %s belongs to no rack of %.300s",
                              flag, end->text, set->topology);
}

static json_t *json_tags(const struct pd_tags *tags)
{
    json_t *array = json_array();
    for (unsigned i = 0; array && i < tags->len; i++) {
        json_array_append_new(array, json_integer(tags->vids[i]));
    }
    return array;
}

static json_t *json_path(const struct pd_path *path)
{
    json_t *array = json_array();
    for (unsigned i = 0; array && i < path->len; i++) {
        json_array_append_new(array, json_integer(path->switches[i]));
    }
    return array;
}

/* ---- verify ---- */

static const struct pd_option verify_options[] = {
    OPTION_TOPOLOGY,
    {.name = "max-hops",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, max_hops),
     .min = 1,
     .max = PD_PATH_MAX - 1,
     .value = "N",
     .fallback = "6",
     .help = "most links between switches of a path"},
    OPTION_JSON,
    {0},
};

static void show_progress(void *context, double share)
{
    pd_progress_step(context, (uint64_t)(share * 1000), 1000);
}

static json_t *verification_json(const struct pd_verification *found)
{
    json_t *by_hops = json_object();
    for (unsigned hops = 0; by_hops && hops < PD_PATH_MAX; hops++) {
        char key[12];
        snprintf(key, sizeof key, "%u", hops);
        if (found->by_hops[hops]) {
            json_object_set_new(by_hops, key, json_integer((json_int_t)found->by_hops[hops]));
        }
    }
    return json_pack("{s:I,s:o,s:I,s:I,s:I}", "paths", (json_int_t)found->paths, "by_hops", by_hops,
                     "ambiguous", (json_int_t)found->ambiguous, "undecodable",
                     (json_int_t)found->undecodable, "punted", (json_int_t)found->punted);
}

static void print_verification(const struct settings *set, const struct pd_topology *topology,
                               const struct pd_verification *found)
{
    char number[PD_CLI_NUMBER_BYTES];
    printf("%s, codec %s: every simple path of at most %" PRIu64 " hops between two ToRs\n\n",
           *topology->name ? topology->name : set->topology, topology->codec, set->max_hops);
    for (unsigned hops = 0; hops < PD_PATH_MAX; hops++) {
        if (found->by_hops[hops]) {
            printf("  %2u hops     %18s\n", hops, pd_cli_number(found->by_hops[hops], number));
        }
    }
    printf("  paths       %18s\n", pd_cli_number(found->paths, number));
    printf("  punted      %18s\n", pd_cli_number(found->punted, number));
    printf("  ambiguous   %18s\n", pd_cli_number(found->ambiguous, number));
    printf("  undecodable %18s\n", pd_cli_number(found->undecodable, number));
}

static int verify(const struct settings *set, const struct pd_codec *codec, struct pd_error *error)
{
    struct pd_progress progress;
    struct pd_verification found;
    if (!strcmp(codec->ops->name, "pint")) { /* many packets tell a path together */
        return pd_cli_pint_verify(codec->topology, set->json, error);
    }
    pd_progress_begin(&progress, "verify");
    int code = pd_codec_verify(codec, PD_VERIFY_ALL, (unsigned)set->max_hops, show_progress,
                               &progress, &found);
    pd_progress_end(&progress);
    if (code) {
        return pd_fail(error, code, "%.300s: %s", set->topology, pd_error_text(code));
    }
    if (set->json) {
        code = pd_json_print(verification_json(&found), error);
    } else {
        print_verification(set, codec->topology, &found);
    }
    if (!code && (found.ambiguous || found.undecodable)) {
        code = pd_fail(error, -PD_E_TOPOLOGY,
                       "%.300s: paths cannot be told apart: do not deploy this codec here",
                       set->topology);
    }
    return code;
}

static int run_verify(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    (void)words;
    return with_codec(settings, error, verify);
}

const struct pd_cli_command pd_cli_codec_verify = {
    .name = "codec verify",
    .synopsis = "--topology FILE [--max-hops N] [--json]",
    .help = "prove that tags tell all paths apart",
    .details =
        "Walks every simple path of at most N hops between every two different ToRs, executes the "
        "tagging rules along it, decodes the tags, and requires the same path back. A hop is a "
        "link between two switches.\n"
        "Counts paths by hops, those that would need one tag too many (punted to the controller), "
        "those that share their tags with another path (ambiguous) and those that decode to "
        "something else (undecodable). Exits with 1 if any is ambiguous or undecodable.\n"
        "Where the codec is pint, runs 1,000 trials with 8 bits on each packet (see pint trials) "
        "and exits with 1 if a path was told wrong, or not at all.",
    .options = verify_options,
    .required = "topology",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_verify,
};

/* ---- encode ---- */

static const struct pd_option encode_options[] = {
    OPTIONS_ENDS,
    {.name = "path",
     .type = PD_OPTION_CALLBACK,
     .value = "LIST",
     .set = set_path,
     .help = "switch IDs, ToR to ToR, as 1,9,17,11,3"},
    OPTION_JSON,
    {0},
};

/* Rules look at addresses: those given have to live at the ends of the path. */
static int check_end(const struct settings *set, const struct pd_topology *topology,
                     const char *flag, const struct end *end, uint32_t sw, struct pd_error *error)
{
    uint32_t tors[PD_HOMES_MAX], len;
    int code = find_tors(set, topology, flag, end, tors, &len, error);
    for (uint32_t i = 0; i < len && !code; i++) {
        if (topology->switches[tors[i]].id == sw) {
            return 0;
        }
    }
    return code ? code
                : pd_fail(error, -PD_E_INFEASIBLE,
                          "--path: has %u at the end of --%s %s, whose ToR is %u", sw, flag,
                          end->text, topology->switches[tors[0]].id);
}

static int check_ends(const struct settings *set, const struct pd_topology *topology,
                      struct pd_error *error)
{
    const struct pd_path *path = &set->path;
    int code = check_end(set, topology, "src", &set->src, path->switches[0], error);
    return code ? code
                : check_end(set, topology, "dst", &set->dst, path->switches[path->len - 1], error);
}

static void print_encoding(const struct settings *set, const struct pd_encoding *encoding)
{
    const struct pd_tags tags = pd_tags_unpack(encoding->mark);
    printf("tags    ");
    for (unsigned i = 0; i < tags.len; i++) {
        printf("%s%u", i ? "," : "", tags.vids[i]);
    }
    printf("%s\ndscp    %u\n", tags.len ? "" : "none", tags.dscp);
    if (encoding->punted) {
        printf("punted  by switch %u: no room for another tag\n",
               set->path.switches[encoding->punted_at]);
    }
}

static int encode(const struct settings *set, const struct pd_codec *codec, struct pd_error *error)
{
    struct pd_encoding encoding = {.punted = false};
    int code = check_ends(set, codec->topology, error);
    if (!code) {
        code = pd_codec_encode(codec, &set->path, &encoding, error);
    }
    if (code) {
        return code;
    }
    if (set->json) {
        const struct pd_tags tags = pd_tags_unpack(encoding.mark);
        return pd_json_print(json_pack("{s:o,s:i,s:b}", "tags", json_tags(&tags), "dscp", tags.dscp,
                                       "punted", encoding.punted),
                             error);
    }
    print_encoding(set, &encoding);
    return PD_CLI_OK;
}

static int run_encode(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    (void)words;
    return with_codec(settings, error, encode);
}

const struct pd_cli_command pd_cli_codec_encode = {
    .name = "codec encode",
    .synopsis = "--topology FILE --src IP --dst IP --path LIST [--json]",
    .help = "tags of a packet that takes a path",
    .details = "Executes the tagging rules of the switches along the path and prints the tags in "
               "the order pushed: the first one is the innermost. The path has to begin at the "
               "source's ToR and to end at the destination's.",
    .options = encode_options,
    .required = "topology src dst path",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_encode,
};

/* ---- decode ---- */

static const struct pd_option decode_options[] = {
    OPTIONS_ENDS,
    {.name = "tags",
     .type = PD_OPTION_CALLBACK,
     .value = "LIST",
     .set = set_tags,
     .help = "link tags in the order pushed, as 9,14; '' for none"},
    {.name = "dscp",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, dscp),
     .max = 63,
     .value = "N",
     .fallback = "0",
     .help = "DSCP field, where the codec uses it"},
    OPTION_JSON,
    {0},
};

/* All pairs of switches are tried that the two ends may lie behind: one fit is the path. */
static int decode_between(const struct settings *set, const struct pd_codec *codec, uint64_t mark,
                          struct pd_path *ret_path, struct pd_error *error)
{
    uint32_t srcs[PD_HOMES_MAX], dsts[PD_HOMES_MAX], srcs_len, dsts_len, fits = 0;
    int code = find_tors(set, codec->topology, "src", &set->src, srcs, &srcs_len, error);
    if (!code) {
        code = find_tors(set, codec->topology, "dst", &set->dst, dsts, &dsts_len, error);
    }
    if (code) {
        return code;
    }
    for (uint32_t s = 0; s < srcs_len; s++) {
        for (uint32_t d = 0; d < dsts_len; d++) {
            code = pd_codec_decode(codec, srcs[s], dsts[d], mark, ret_path, error);
            if (code && code != -PD_E_INFEASIBLE) {
                return code;
            }
            fits += !code;
        }
    }
    return fits > 1 ? pd_fail(error, -PD_E_AMBIGUOUS, "%u paths leave this mark", fits)
           : fits   ? 0
                    : code;
}

static int decode(const struct settings *set, const struct pd_codec *codec, struct pd_error *error)
{
    struct pd_style style = pd_cli_style(stdout);
    char text[PD_CLI_PATH_BYTES];
    struct pd_tags tags = set->tags;
    struct pd_path path = {0};
    tags.dscp = (uint8_t)set->dscp;
    int code = decode_between(set, codec, pd_tags_pack(&tags), &path, error);
    if (code) {
        return code;
    }
    if (set->json) {
        return pd_json_print(json_pack("{s:o}", "path", json_path(&path)), error);
    }
    puts(pd_cli_path(&path, &style, text));
    return PD_CLI_OK;
}

static int run_decode(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    (void)words;
    return with_codec(settings, error, decode);
}

const struct pd_cli_command pd_cli_codec_decode = {
    .name = "codec decode",
    .synopsis = "--topology FILE --src IP --dst IP --tags LIST [--dscp N] [--json]",
    .help = "path of a packet from its tags",
    .details = "Rebuilds the path between the racks of the two addresses. Tags that fit no path "
               "of the topology are refused with the reason, never guessed.",
    .options = decode_options,
    .required = "topology src dst tags",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_decode,
};

/* ---- rules ---- */

static const struct pd_option rules_options[] = {
    OPTION_TOPOLOGY,
    {.name = "switch",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, sw),
     .min = 1,
     .max = UINT32_MAX,
     .value = "ID",
     .help = "ID of the switch"},
    {.name = "depth",
     .type = PD_OPTION_CALLBACK,
     .value = "pcp|plain",
     .fallback = "pcp",
     .set = set_depth,
     .help = "tag depth in the outer PCP, or not (hardware)"},
    {0},
};

static int rules(const struct settings *set, const struct pd_codec *codec, struct pd_error *error)
{
    uint32_t sw = pd_topology_switch(codec->topology, (uint32_t)set->sw);
    if (sw == PD_NONE) {
        return pd_fail(error, -PD_E_NOT_FOUND, "--switch: %" PRIu64 " is no switch of %.300s",
                       set->sw, set->topology);
    }
    int code = pd_openflow_write(codec, sw, set->depth, stdout);
    return code ? pd_fail(error, code, "switch %" PRIu64 ": %s", set->sw, pd_error_text(code)) : 0;
}

static int run_rules(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    (void)words;
    return with_codec(settings, error, rules);
}

const struct pd_cli_command pd_cli_codec_rules = {
    .name = "codec rules",
    .synopsis = "--topology FILE --switch ID [--depth pcp|plain]",
    .help = "tagging rules of a switch as OpenFlow 1.3",
    .details = "Prints the switch's tagging rules for table 0, one flow a line, for ovs-ofctl -O "
               "OpenFlow13 add-flows BRIDGE -. Forwarding is left to table 1. Ports are numbered "
               "as in the topology: neighbours in ascending order of ID, switches first.",
    .options = rules_options,
    .required = "topology switch",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_rules,
};
