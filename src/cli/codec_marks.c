/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump codec encode` and `codec decode`: a packet's mark from its path, and back. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/codec.h"
#include "cli/json.h"
#include "codec/marks.h"
#include "packet/filter.h"
#include "query/rows/text.h"

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

/* ---- encode ---- */

static const struct pd_option encode_options[] = {
    PD_CLI_CODEC_ENDS,
    {.name = "path",
     .type = PD_OPTION_CALLBACK,
     .value = "LIST",
     .set = pd_cli_codec_set_path,
     .help = "switch IDs, ToR to ToR, as 1,9,17,11,3"},
    {.name = "tags",
     .type = PD_OPTION_CALLBACK,
     .value = "LIST",
     .set = pd_cli_codec_set_tags,
     .help = "link tags that its host has put on it, the innermost first"},
    {.name = "dscp",
     .type = PD_OPTION_U64,
     .offset = PD_CLI_CODEC_AT(code_point),
     .max = 63,
     .value = "N",
     .fallback = "0",
     .help = "the DSCP that its host has put there"},
    PD_CLI_CODEC_FILTERS,
    PD_CLI_CODEC_JSON,
    {0},
};

/* Rules look at addresses: those given have to live at the ends of the path. */
static int check_end(const struct pd_cli_codec_settings *set, const struct pd_topology *topology,
                     const char *flag, const struct pd_cli_end *end, uint32_t sw,
                     struct pd_error *error)
{
    uint32_t tors[PD_HOMES_MAX], len;
    int err = pd_cli_codec_tors(set, topology, flag, end, tors, &len, error);
    for (uint32_t i = 0; i < len && !err; i++) {
        if (topology->switches[tors[i]].id == sw) {
            return 0;
        }
    }
    return err ? err
               : pd_fail(error, -PD_E_INFEASIBLE,
                         "--path: has %u at the end of --%s %s, whose ToR is %u", sw, flag,
                         end->text, topology->switches[tors[0]].id);
}

static int check_ends(const struct pd_cli_codec_settings *set, const struct pd_topology *topology,
                      struct pd_error *error)
{
    const struct pd_path *path = &set->path;
    int err = check_end(set, topology, "src", &set->src, path->switches[0], error);
    return err ? err
               : check_end(set, topology, "dst", &set->dst, path->switches[path->len - 1], error);
}

static void print_tags(const struct pd_tags *tags)
{
    printf("tags    ");
    for (unsigned i = 0; i < tags->len; i++) {
        printf("%s%u", i ? "," : "", tags->vids[i]);
    }
    printf("%s\ndscp    %u\n", tags->len ? "" : "none", tags->dscp);
}

static void print_encoding(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                           const struct pd_encoding *encoding)
{
    const struct pd_tags tags = pd_tags_unpack(encoding->mark);
    if (encoding->dropped) {
        printf("dropped by switch %u: its edge lets no tags of hosts in\n", set->path.switches[0]);
        return;
    }
    if (codec->read_mark) {
        printf("filter  %" PRIu64 "\n", encoding->mark & UINT32_MAX);
    } else {
        print_tags(&tags);
    }
    if (encoding->punted) {
        printf("punted  by switch %u: no room for another tag\n",
               set->path.switches[encoding->punted_at]);
    }
}

static json_t *encoding_json(const struct pd_codec *codec, const struct pd_encoding *encoding)
{
    const struct pd_tags tags = pd_tags_unpack(encoding->mark);
    if (codec->read_mark) {
        return json_pack("{s:I}", "filter", (json_int_t)(encoding->mark & UINT32_MAX));
    }
    return json_pack("{s:o,s:i,s:b}", "tags", json_tags(&tags), "dscp", tags.dscp, "punted",
                     encoding->punted);
}

static int encode(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                  struct pd_error *error)
{
    struct pd_encoding encoding = {.punted = false};
    uint64_t own = pd_tags_set_dscp(set->tags, (uint8_t)set->code_point);
    int err = check_ends(set, codec->topology, error);
    if (!err) {
        err = pd_codec_encode_own(codec, &set->path, own, &encoding, error);
    }
    if (err) {
        return err;
    }
    if (set->json) {
        json_t *json = encoding_json(codec, &encoding);
        if (own) {
            json_object_set_new(json, "dropped", json_boolean(encoding.dropped));
        }
        return pd_cli_json_print(json, error);
    }
    print_encoding(set, codec, &encoding);
    return PD_CLI_OK;
}

static int run_encode(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    (void)words;
    return pd_cli_codec_with(settings, error, encode);
}

const struct pd_cli_command pd_cli_codec_encode = {
    .name = "codec encode",
    .synopsis = "--topology FILE --src IP --dst IP --path LIST [--tags LIST] [--dscp N] [--json]",
    .help = "tags of a packet that takes a path",
    .details =
        "Executes the tagging rules of the switches along the path and prints the tags in "
        "the order pushed: the first one is the innermost. The path has to begin at the "
        "source's ToR and to end at the destination's. With --tags or --dscp, which its host "
        "has written itself, the edge of the first switch comes before that: the packet is "
        "dropped, loses them, or keeps them where the edge is open.",
    .options = encode_options,
    .required = "topology src dst path",
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_codec_settings),
    .run = run_encode,
};

/* ---- decode ---- */

static const struct pd_option decode_options[] = {
    PD_CLI_CODEC_ENDS,
    {.name = "tags",
     .type = PD_OPTION_CALLBACK,
     .value = "LIST",
     .set = pd_cli_codec_set_tags,
     .help = "link tags in the order pushed, as 9,14; '' for none"},
    {.name = "dscp",
     .type = PD_OPTION_U64,
     .offset = PD_CLI_CODEC_AT(code_point),
     .max = 63,
     .value = "N",
     .fallback = "0",
     .help = "DSCP field, where the codec uses it"},
    {.name = "filter",
     .type = PD_OPTION_CALLBACK,
     .value = "N",
     .set = pd_cli_codec_set_filter,
     .help = "the path filter, where the codec is path-bloom"},
    PD_CLI_CODEC_FILTERS,
    PD_CLI_CODEC_JSON,
    {0},
};

/* All pairs of switches are tried that the two ends may lie behind: one fit is the path. */
static int decode_between(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                          uint64_t mark, struct pd_path *ret_path, struct pd_error *error)
{
    uint32_t srcs[PD_HOMES_MAX], dsts[PD_HOMES_MAX], srcs_len, dsts_len, fits = 0;
    int err = pd_cli_codec_tors(set, codec->topology, "src", &set->src, srcs, &srcs_len, error);
    if (!err) {
        err = pd_cli_codec_tors(set, codec->topology, "dst", &set->dst, dsts, &dsts_len, error);
    }
    if (err) {
        return err;
    }
    for (uint32_t s = 0; s < srcs_len; s++) {
        for (uint32_t d = 0; d < dsts_len; d++) {
            err = pd_codec_decode(codec, srcs[s], dsts[d], mark, ret_path, error);
            if (err && err != -PD_E_INFEASIBLE) {
                return err;
            }
            fits += !err;
        }
    }
    return fits > 1 ? pd_fail(error, -PD_E_AMBIGUOUS, "%u paths leave this mark", fits)
           : fits   ? 0
                    : err;
}

/* ---- several paths ---- */

struct several {
    const struct pd_topology *topology;
    json_t *paths;
};

static bool add_path(void *context, const struct pd_walk *walk)
{
    const struct several *several = context;
    json_t *path = json_array();
    for (uint32_t i = 0; i < walk->len; i++) {
        json_array_append_new(path,
                              json_integer(several->topology->switches[walk->switches[i]].id));
    }
    return !json_array_append_new(several->paths, path);
}

/* The error of decoding stays; what was found is printed as far as it was looked for. */
static void print_several(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                          uint64_t mark)
{
    uint32_t srcs[PD_HOMES_MAX], dsts[PD_HOMES_MAX], srcs_len, dsts_len;
    struct several several = {codec->topology, json_array()};
    struct pd_error error = {0};
    if (pd_cli_codec_tors(set, codec->topology, "src", &set->src, srcs, &srcs_len, &error) ||
        pd_cli_codec_tors(set, codec->topology, "dst", &set->dst, dsts, &dsts_len, &error)) {
        json_decref(several.paths);
        return;
    }
    for (uint32_t s = 0; s < srcs_len; s++) {
        for (uint32_t d = 0; d < dsts_len; d++) {
            codec->ops->each(codec, srcs[s], dsts[d], mark, add_path, &several);
        }
    }
    pd_cli_json_print(json_pack("{s:o}", "paths", several.paths), &error);
}

/* What was given has to be what the codec reads. */
static int read_mark(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                     uint64_t *ret_mark, struct pd_error *error)
{
    const bool filter = codec->read_mark != NULL;
    if (filter ? !set->filter_given || set->tags_given : !set->tags_given || set->filter_given) {
        return pd_fail(error, -PD_E_VALUE, "%s is needed, and not %s: the codec is %s",
                       filter ? "--filter" : "--tags", filter ? "--tags" : "--filter",
                       codec->ops->name);
    }
    *ret_mark = filter ? PD_FILTER_PRESENT | set->filter
                       : pd_tags_set_dscp(set->tags, (uint8_t)set->code_point);
    return 0;
}

static int decode(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                  struct pd_error *error)
{
    struct pd_style style = pd_row_style_of(stdout);
    char text[PD_TEXT_PATH_BYTES];
    struct pd_path path = {0};
    uint64_t mark = 0;
    int err = read_mark(set, codec, &mark, error);
    if (!err) {
        err = decode_between(set, codec, mark, &path, error);
    }
    if (err == -PD_E_AMBIGUOUS && set->json && codec->ops->each) {
        print_several(set, codec, mark);
    }
    if (err) {
        return err;
    }
    if (set->json) {
        return pd_cli_json_print(json_pack("{s:o}", "path", json_path(&path)), error);
    }
    puts(pd_row_text_path(&path, &style, text));
    return PD_CLI_OK;
}

static int run_decode(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    (void)words;
    return pd_cli_codec_with(settings, error, decode);
}

const struct pd_cli_command pd_cli_codec_decode = {
    .name = "codec decode",
    .synopsis =
        "--topology FILE --src IP --dst IP --tags LIST|--filter N [--dscp N] [--codec NAME] "
        "[--json]",
    .help = "path of a packet from its tags",
    .details =
        "Rebuilds the path between the racks of the two addresses. Tags that fit no path "
        "of the topology are refused with the reason, never guessed. Of a mark that several paths "
        "leave, --json prints them all; the exit code is 1 then, too.",
    .options = decode_options,
    .required = "topology src dst",
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_codec_settings),
    .run = run_decode,
};
