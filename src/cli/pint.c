/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump pint encode` and `pint tables`: what switches do with a digest, by hand. */
#include "cli/pint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "codec/pint/encode.h"

#define LINE_BYTES_MAX  (4u << 20)
#define FRAME_BYTES_MAX 65600
#define SWITCHES_MAX    255 /* a TTL does not last for more */

struct settings {
    const char *topology;
    const char *plan;
    uint64_t sw;
    bool json;
};

#define OPTION_TOPOLOGY                                                            \
    {                                                                              \
        .name = "topology", .type = PD_OPTION_STRING, .value = "FILE",             \
        .offset = offsetof(struct settings, topology), .help = "the topology file" \
    }
#define OPTION_PLAN                                                             \
    {                                                                           \
        .name = "plan", .type = PD_OPTION_STRING, .value = "FILE",              \
        .offset = offsetof(struct settings, plan), .help = "the telemetry plan" \
    }

int pd_cli_pint_open(const char *topology, const char *plan, struct pd_cli_pint *ret_pint,
                     struct pd_error *error)
{
    struct pd_cli_pint pint = {0};
    int err = pd_topology_read(topology, &pint.topology, error);

    if (!err && plan) {
        err = pd_pint_plan_read(plan, &pint.plan, error);
    }
    if (err) {
        pd_cli_pint_close(&pint);
        return err;
    }
    *ret_pint = pint;
    return 0;
}

void pd_cli_pint_close(struct pd_cli_pint *pint)
{
    pd_pint_plan_free(pint->plan);
    pd_topology_free(pint->topology);
    *pint = (struct pd_cli_pint){0};
}

/* ---- encode */

/* One line of the input. */
struct item {
    uint8_t frame[FRAME_BYTES_MAX];
    size_t bytes;
    uint32_t path[SWITCHES_MAX];
    size_t len;
    uint64_t room[PD_PINT_QUERIES_MAX][SWITCHES_MAX];
    const uint64_t *values[PD_PINT_QUERIES_MAX];
};

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int read_frame(const struct pd_cli_reader *reader, const json_t *line, struct item *item)
{
    const char *text = json_string_value(json_object_get(line, "frame"));
    const size_t digits = text ? strlen(text) : 0;

    if (!text || digits % 2 || digits / 2 > sizeof item->frame) {
        return pd_cli_read_bad(reader, "frame", "a frame in hexadecimal digits");
    }
    for (size_t i = 0; i < digits; i += 2) {
        const int high = digit(text[i]), low = digit(text[i + 1]);
        if (high < 0 || low < 0) {
            return pd_cli_read_bad(reader, "frame", "a frame in hexadecimal digits");
        }
        item->frame[i / 2] = (uint8_t)(high << 4 | low);
    }
    item->bytes = digits / 2;
    return 0;
}

static int read_path(const struct pd_cli_reader *reader, const struct pd_topology *topology,
                     const json_t *line, struct item *item)
{
    const json_t *list = json_object_get(line, "path");

    if (!json_is_array(list) || json_array_size(list) == 0 ||
        json_array_size(list) > SWITCHES_MAX) {
        return pd_cli_read_bad(reader, "path", "a list of switches that a TTL lasts for");
    }
    item->len = json_array_size(list);
    for (size_t i = 0; i < item->len; i++) {
        const json_t *id = json_array_get(list, i);
        const json_int_t value = json_is_integer(id) ? json_integer_value(id) : 0;
        if (value < 1 || value > UINT32_MAX ||
            pd_topology_switch(topology, (uint32_t)value) == PD_NONE) {
            return pd_cli_read_bad(reader, "path", "a list of switches of the topology");
        }
        item->path[i] = (uint32_t)value;
    }
    return 0;
}

static int read_values(const struct pd_cli_reader *reader, const struct pd_pint_plan *plan,
                       const json_t *line, struct item *item)
{
    const json_t *values = json_object_get(line, "values");

    for (unsigned n = 0; n < plan->queries_len; n++) {
        const json_t *list = json_object_get(values, plan->queries[n].name);
        item->values[n] = list ? item->room[n] : NULL;
        if (list && json_array_size(list) != item->len) {
            return pd_cli_read_bad(reader, plan->queries[n].name, "a list of one value a switch");
        }
        for (size_t p = 0; list && p < item->len; p++) {
            const json_t *value = json_array_get(list, p);
            if (!json_is_integer(value) || json_integer_value(value) < 0 ||
                (uint64_t)json_integer_value(value) > PD_PINT_VALUE_MAX) {
                return pd_cli_read_bad(reader, plan->queries[n].name,
                                       "a list of one value a switch");
            }
            item->room[n][p] = (uint64_t)json_integer_value(value);
        }
    }
    return 0;
}

static void print_crossing(const struct pd_pint_crossing *crossing, const uint8_t *frame, FILE *out)
{
    fprintf(out, "{\"packet_id\":%" PRIu32 ",\"set\":", crossing->packet_id);
    if (crossing->set < 0) {
        fputs("null", out);
    } else {
        fprintf(out, "%d", crossing->set);
    }
    if (crossing->looped) {
        fprintf(out,
                ",\"digest\":null,\"frame\":null,\"loop\":{\"switch\":%" PRIu32 ",\"hop\":%" PRIu32
                "}}\n",
                crossing->sw, crossing->hop);
        return;
    }
    fprintf(out, ",\"digest\":%u,\"frame\":\"", crossing->digest);
    for (size_t i = 0; i < crossing->frame_bytes; i++) {
        fprintf(out, "%02x", frame[i]);
    }
    fputs("\",\"loop\":null}\n", out);
}

static int encode_item(const struct pd_cli_reader *reader, const struct pd_pint_plan *plan,
                       const struct item *item, FILE *out)
{
    static uint8_t frame[FRAME_BYTES_MAX + 4];
    struct pd_packet packet;
    struct pd_pint_crossing crossing;
    const enum pd_packet_verdict verdict =
        pd_packet_parse(item->frame, item->bytes, item->bytes, &packet);

    if (verdict != PD_PACKET_OK) {
        return pd_fail(reader->error, -PD_E_VALUE, "%s: frame: %s", reader->where,
                       pd_packet_verdict_text(verdict));
    }
    int err = pd_pint_encode(plan, item->frame, item->bytes, &packet, item->path, item->len,
                             item->values, frame, &crossing, reader->error);
    if (err) {
        return pd_fail_within(reader->error, reader->where);
    }
    print_crossing(&crossing, frame, out);
    return 0;
}

static int encode_line(const struct pd_cli_pint *pint, const char *text, size_t bytes,
                       const struct pd_cli_reader *reader, struct item *item, FILE *out)
{
    json_error_t words;
    json_t *line = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &words);

    if (!line) {
        return pd_fail(reader->error, -PD_E_SYNTAX, "%s: %s", reader->where, words.text);
    }
    int err = read_frame(reader, line, item);
    if (!err) {
        err = read_path(reader, pint->topology, line, item);
    }
    if (!err) {
        err = read_values(reader, pint->plan, line, item);
    }
    if (!err) {
        err = encode_item(reader, pint->plan, item, out);
    }
    json_decref(line);
    return err;
}

static int encode_lines(const struct pd_cli_pint *pint, FILE *in, FILE *out, struct pd_error *error)
{
    struct item *item = malloc(sizeof *item);
    char *text = NULL, where[40];
    size_t room = 0;
    unsigned long long number = 0;
    ssize_t bytes;
    int err = item ? 0 : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));

    while (!err && (bytes = getline(&text, &room, in)) > 0) {
        const struct pd_cli_reader reader = {where, error};
        snprintf(where, sizeof where, "standard input:%llu", ++number);
        err = (size_t)bytes > LINE_BYTES_MAX
                  ? pd_fail(error, -PD_E_TOO_LARGE, "%s: the line is too long", where)
                  : encode_line(pint, text, (size_t)bytes, &reader, item, out);
    }
    if (!err && ferror(in)) {
        err = pd_fail(error, -EIO, "standard input: %s", strerror(EIO));
    }
    free(text);
    free(item);
    return err;
}

/* The answer is printed when all of it is there: a failure leaves nothing on standard output. */
static int run_encode(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_cli_pint pint = {0};
    char *answer = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&answer, &bytes);
    int err = out ? 0 : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));

    (void)words;
    if (!err) {
        err = pd_cli_pint_open(set->topology, set->plan, &pint, error);
    }
    if (!err) {
        err = encode_lines(&pint, stdin, out, error);
    }
    if (out && fclose(out) && !err) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (!err) {
        fwrite(answer, 1, bytes, stdout);
    }
    free(answer);
    pd_cli_pint_close(&pint);
    return err;
}

static const struct pd_option encode_options[] = {
    OPTION_TOPOLOGY,
    OPTION_PLAN,
    {0},
};

const struct pd_cli_command pd_cli_pint_encode = {
    .name = "pint encode",
    .synopsis = "--topology FILE --plan FILE",
    .help = "what switches write on packets that cross a path",
    .details =
        "Reads lines of standard input, each a JSON object with the packet's \"frame\" in "
        "hexadecimal digits as the first switch gets it, the \"path\" as a list of switches, and "
        "\"values\" with a list of one value a switch for each query that measures.\n"
        "Prints a line each: the packet ID, the index of the set that the packet is for, the "
        "digest, the frame as it arrives, and for a packet that was found to loop the switch and "
        "the hop that report it.",
    .options = encode_options,
    .required = "topology plan",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_encode,
};

/* ---- tables */

static json_t *json_fields(const struct pd_pint_plan *plan, const struct pd_pint_set *set)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < set->fields_len; i++) {
        const struct pd_pint_field *field = &set->fields[i];
        const struct pd_pint_query *query = &plan->queries[field->query];
        json_array_append_new(list, json_pack("{s:s,s:i,s:i,s:i,s:i,s:i}", "query", query->name,
                                              "instance", (int)field->instance, "tag",
                                              (int)pd_pint_tag(field), "shift", (int)field->shift,
                                              "bits", (int)query->bits, "counter_bits",
                                              (int)query->counter_bits));
    }
    return list;
}

static json_t *json_sets(const struct pd_pint_plan *plan)
{
    json_t *list = json_array();
    uint32_t below = 0;

    for (unsigned i = 0; i < plan->sets_len; i++) {
        below += plan->sets[i].weight;
        json_array_append_new(list, json_pack("{s:i,s:i,s:o}", "set", (int)i, "below", (int)below,
                                              "fields", json_fields(plan, &plan->sets[i])));
    }
    return list;
}

static json_t *json_ports(const struct pd_topology *topology, uint32_t sw)
{
    const struct pd_switch *at = &topology->switches[sw];
    json_t *list = json_array();

    for (uint32_t n = 0; n < at->neighbours_len; n++) {
        const struct pd_neighbour *to = &at->neighbours[n];
        const uint32_t id =
            to->is_host ? topology->hosts[to->node].id : topology->switches[to->node].id;
        json_array_append_new(list, json_pack("{s:i,s:I,s:b}", "port", (int)to->port, "to",
                                              (json_int_t)id, "host", (int)to->is_host));
    }
    return list;
}

static json_t *json_reservoir(void)
{
    json_t *list = json_array();

    for (int hop = 1; hop <= SWITCHES_MAX; hop++) {
        json_array_append_new(list, json_integer(PD_PINT_ONE / hop));
    }
    return list;
}

static json_t *tables_json(const struct pd_cli_pint *pint, uint32_t sw)
{
    json_t *tables = pd_pint_plan_json(pint->plan);

    json_object_set_new(tables, "switch", json_integer(pint->topology->switches[sw].id));
    json_object_set_new(tables, "sets", json_sets(pint->plan));
    json_object_set_new(tables, "reservoir", json_reservoir());
    json_object_set_new(tables, "ports", json_ports(pint->topology, sw));
    return tables;
}

static int run_tables(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_cli_pint pint = {0};
    int err = pd_cli_pint_open(set->topology, set->plan, &pint, error);

    (void)words;
    if (err) {
        return err;
    }
    const uint32_t sw = pd_topology_switch(pint.topology, (uint32_t)set->sw);
    if (sw == PD_NONE) {
        err = pd_fail(error, -PD_E_NOT_FOUND, "--switch: %" PRIu64 " is no switch of %.300s",
                      set->sw, set->topology);
    } else {
        err = pd_cli_json_print(tables_json(&pint, sw), error);
    }
    pd_cli_pint_close(&pint);
    return err;
}

static const struct pd_option tables_options[] = {
    OPTION_TOPOLOGY,
    OPTION_PLAN,
    {.name = "switch",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, sw),
     .min = 1,
     .max = UINT32_MAX,
     .value = "ID",
     .help = "ID of the switch"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object; there is no other form"},
    {0},
};

const struct pd_cli_command pd_cli_pint_tables = {
    .name = "pint tables",
    .synopsis = "--topology FILE --plan FILE --switch ID [--json]",
    .help = "what a switch needs to know of a telemetry plan",
    .details = "Prints the plan as a switch executes it: below which draw a packet is for which "
               "set, where each field lies in the digest, which values each code stands for, with "
               "which probability, of 65536, a hop writes, and the switch's ports.",
    .options = tables_options,
    .required = "topology plan switch",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_tables,
};
