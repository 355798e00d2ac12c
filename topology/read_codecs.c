/* SPDX-License-Identifier: Apache-2.0 */
/* Reads "codec" and "codec_options": the schemes that mark packets here, and what is said to them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/reader.h"

static void read_edge(struct pd_reader *reader, const json_t *edge, const char *place,
                      struct pd_draft_codec *codec)
{
    static const char *const names[] = {
        [PD_EDGE_DROP] = "drop", [PD_EDGE_STRIP] = "strip", [PD_EDGE_OPEN] = "open"};
    const char *text = json_is_string(edge) ? json_string_value(edge) : "";
    for (int i = PD_EDGE_DROP; i <= PD_EDGE_OPEN; i++) {
        if (!strcmp(text, names[i])) {
            codec->edge = (enum pd_edge_option)i;
            return;
        }
    }
    pd_topology_findings_add(reader->findings,
                             "%s.edge: wrong, expected \"drop\", \"strip\" or \"open\"", place);
}

/* What every scheme may be told; the rest of its options is its own. */
static void read_common(struct pd_reader *reader, json_t *options, const char *place,
                        struct pd_draft_codec *codec)
{
    json_t *tpid = json_object_get(options, "tpid"), *hops = json_object_get(options, "max_hops");
    json_t *edge = json_object_get(options, "edge");
    if (tpid) {
        const char *text = json_is_string(tpid) ? json_string_value(tpid) : "";
        char *end;
        unsigned long value = strtoul(text, &end, 16);
        if (strncmp(text, "0x", 2) != 0 || *end ||
            (value != PD_TPID_DEFAULT && value != PD_TPID_SERVICE)) {
            pd_topology_findings_add(reader->findings,
                                     "%s.tpid: wrong, expected \"0x8100\" or \"0x88a8\"", place);
        } else {
            codec->tpid = (uint16_t)value;
        }
    }
    if (hops) {
        json_int_t value = json_is_integer(hops) ? json_integer_value(hops) : 0;
        if (value < 1 || value > PD_MAX_HOPS_MAX) {
            pd_topology_findings_add(reader->findings,
                                     "%s.max_hops: wrong, expected an integer from 1 to %d", place,
                                     PD_MAX_HOPS_MAX);
        } else {
            codec->max_hops = (uint16_t)value;
        }
    }
    if (edge) {
        read_edge(reader, edge, place, codec);
    }
}

static int add_codec(struct pd_reader *reader, const char *name, json_t *options, const char *place)
{
    char *text = NULL;
    if (options && !json_is_object(options)) {
        pd_topology_findings_add(reader->findings, "%s: wrong, expected an object", place);
        return 0;
    }
    if (options && json_object_size(options)) {
        text = json_dumps(options, JSON_COMPACT | JSON_PRESERVE_ORDER);
        if (!text) {
            return -ENOMEM;
        }
    }
    if (text && strlen(text) > PD_OPTIONS_MAX) {
        pd_topology_findings_add(reader->findings, "%s: %zu bytes, expected at most %d", place,
                                 strlen(text), PD_OPTIONS_MAX);
        free(text);
        return 0;
    }
    int error = pd_topology_draft_codec(&reader->draft, name, text ? text : "");
    free(text);
    if (!error && options) {
        read_common(reader, options, place, &reader->draft.codecs[reader->draft.codecs_len - 1]);
    }
    return error;
}

static bool is_listed(json_t *list, const char *name, size_t before)
{
    for (size_t i = 0; i < before; i++) {
        if (!strcmp(json_string_value(json_array_get(list, i)), name)) {
            return true;
        }
    }
    return false;
}

/* True when all are different names. */
static bool check_list(struct pd_reader *reader, json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *name = json_array_get(list, i);
        if (!pd_topology_reader_is_name(name) || !*json_string_value(name) ||
            is_listed(list, json_string_value(name), i)) {
            pd_topology_findings_add(
                reader->findings, "codec[%zu]: wrong, expected the name of a codec, each once", i);
            return false;
        }
    }
    return true;
}

static int read_several(struct pd_reader *reader, json_t *list, json_t *options)
{
    const char *key;
    json_t *value;
    int error = 0;
    if (options && !json_is_object(options)) {
        pd_topology_findings_add(reader->findings, "codec_options: wrong, expected an object");
        return 0;
    }
    json_object_foreach(options, key, value)
    {
        char buffer[PD_READER_TEXT_BYTES];
        if (!is_listed(list, key, json_array_size(list))) {
            pd_topology_findings_add(reader->findings,
                                     "codec_options: `%s` is no codec of this file",
                                     pd_topology_reader_safe(key, buffer));
        }
    }
    for (size_t i = 0; i < json_array_size(list) && !error; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        char place[PD_READER_TEXT_BYTES + 32], buffer[PD_READER_TEXT_BYTES];
        snprintf(place, sizeof place, "codec_options.%s", pd_topology_reader_safe(name, buffer));
        error = add_codec(reader, name, json_object_get(options, name), place);
    }
    return error;
}

int pd_topology_reader_codecs(struct pd_reader *reader, json_t *root)
{
    json_t *codec = json_object_get(root, "codec");
    json_t *options = json_object_get(root, "codec_options");
    if (json_is_array(codec)) {
        if (json_array_size(codec) > PD_CODECS_MAX) {
            pd_topology_findings_add(reader->findings, "codec: %zu names, expected at most %d",
                                     json_array_size(codec), PD_CODECS_MAX);
            return 0;
        }
        if (!check_list(reader, codec)) {
            return 0;
        }
        if (json_array_size(codec) > 1) {
            return read_several(reader, codec, options);
        }
        codec = json_array_get(codec, 0);
    }
    if (!codec || (json_is_string(codec) && !json_string_length(codec))) {
        return 0;
    }
    if (!pd_topology_reader_is_name(codec)) {
        pd_topology_findings_add(
            reader->findings,
            "codec: wrong, expected a string of at most %d bytes without control "
            "characters, or a list of such",
            PD_NAME_MAX);
        return 0;
    }
    return add_codec(reader, json_string_value(codec), options, "codec_options");
}
