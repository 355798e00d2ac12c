/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands `pathdump codec …` share: their settings, options and the codec they ask. */
#ifndef PD_CLI_CODEC_H
#define PD_CLI_CODEC_H

#include "cli/cli.h"
#include "codec/codec.h"

struct pd_cli_end {
    struct pd_addr addr;
    uint8_t ip_version;
    char text[PD_ADDR_TEXT_BYTES];
};

struct pd_cli_codec_settings {
    const char *topology;
    const char *codec; /* NULL: the topology's first one with keys */
    uint64_t max_hops; /* 0: not given */
    uint64_t code_point, filter, sw, seed;
    struct pd_cli_end src, dst;
    struct pd_path path;
    uint64_t tags; /* as a mark of link tags; of `tags_given` */
    bool tags_given, filter_given;
    enum pd_depth depth;
    /* In place of the file's "codec_options". NULL, 0: as there. */
    const char *carrier, *monitors;
    uint64_t bits, hashes;
    bool order;
    const char *out;
    bool json;
};

/* Setters of options (struct pd_option). */
int pd_cli_codec_set_end(void *target, const char *name, const char *value, struct pd_error *error);
int pd_cli_codec_set_path(void *target, const char *name, const char *value,
                          struct pd_error *error);
int pd_cli_codec_set_tags(void *target, const char *name, const char *value,
                          struct pd_error *error);
int pd_cli_codec_set_filter(void *target, const char *name, const char *value,
                            struct pd_error *error);
int pd_cli_codec_set_depth(void *target, const char *name, const char *value,
                           struct pd_error *error);

#define PD_CLI_CODEC_AT(member) offsetof(struct pd_cli_codec_settings, member)
#define PD_CLI_CODEC_TOPOLOGY                                            \
    {                                                                    \
        .name = "topology", .type = PD_OPTION_STRING, .value = "FILE",   \
        .offset = PD_CLI_CODEC_AT(topology), .help = "the topology file" \
    }
#define PD_CLI_CODEC_NAME                                                   \
    {                                                                       \
        .name = "codec", .type = PD_OPTION_STRING, .value = "NAME",         \
        .offset = PD_CLI_CODEC_AT(codec),                                   \
        .help = "one of several codecs, or one that the file does not name" \
    }
#define PD_CLI_CODEC_JSON                                                        \
    {                                                                            \
        .name = "json", .type = PD_OPTION_FLAG, .offset = PD_CLI_CODEC_AT(json), \
        .help = "print one JSON object, for programs"                            \
    }
#define PD_CLI_CODEC_END(id, text)                                                          \
    {                                                                                       \
        .name = id, .type = PD_OPTION_CALLBACK, .value = "IP", .set = pd_cli_codec_set_end, \
        .help = text                                                                        \
    }
#define PD_CLI_CODEC_ENDS                                        \
    PD_CLI_CODEC_TOPOLOGY, PD_CLI_CODEC_NAME,                    \
        PD_CLI_CODEC_END("src", "source address of the packet"), \
        PD_CLI_CODEC_END("dst", "destination address")
/* Options of path filters, which override those of the file. */
#define PD_CLI_CODEC_FILTERS                                                       \
    {.name = "carrier",                                                            \
     .type = PD_OPTION_STRING,                                                     \
     .offset = PD_CLI_CODEC_AT(carrier),                                           \
     .value = "vxlan|vlan2|vlan",                                                  \
     .help = "path filters: where they stand on packets"},                         \
        {.name = "bits",                                                           \
         .type = PD_OPTION_U64,                                                    \
         .offset = PD_CLI_CODEC_AT(bits),                                          \
         .min = 1,                                                                 \
         .max = 32,                                                                \
         .value = "N",                                                             \
         .help = "path filters: their length"},                                    \
        {.name = "hashes",                                                         \
         .type = PD_OPTION_U64,                                                    \
         .offset = PD_CLI_CODEC_AT(hashes),                                        \
         .min = 1,                                                                 \
         .max = 8,                                                                 \
         .value = "N",                                                             \
         .help = "path filters: bits that each switch sets"},                      \
        {.name = "monitors",                                                       \
         .type = PD_OPTION_STRING,                                                 \
         .offset = PD_CLI_CODEC_AT(monitors),                                      \
         .value = "tor|tor+top",                                                   \
         .help = "path filters: where they begin"},                                \
    {                                                                              \
        .name = "order", .type = PD_OPTION_FLAG, .offset = PD_CLI_CODEC_AT(order), \
        .help = "path filters: they tell the order of switches, too"               \
    }

/* Opens the topology and its codec, does the command's work with it, and closes both. */
int pd_cli_codec_with(const struct pd_cli_codec_settings *set, struct pd_error *error,
                      int (*work)(const struct pd_cli_codec_settings *set,
                                  const struct pd_codec *codec, struct pd_error *error));

/* The switches that the address may lie behind, as indexes: several for a host with links to them.
 */
int pd_cli_codec_tors(const struct pd_cli_codec_settings *set, const struct pd_topology *topology,
                      const char *flag, const struct pd_cli_end *end,
                      uint32_t ret_tors[PD_HOMES_MAX], uint32_t *ret_len, struct pd_error *error);

#endif
