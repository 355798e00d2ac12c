/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the OpenFlow endpoint from a test: commands on standard input, one JSON object a line on
 * standard output.
 *
 * drive_switches TOPOLOGY LISTEN [dry-run]
 *     status | counters                       one object
 *     changes ID | check ID                   "error" is 0 or the text
 *     out ID IN_PORT OUT_PORT|table HEX       sends a frame
 * Events come in between: {"event": "packet_in" | "unknown" | "state", …}. It ends with its input.
 */
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "controller/switches/switches.h"

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static void print(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    pthread_mutex_lock(&output);
    puts(text ? text : "{}");
    fflush(stdout);
    pthread_mutex_unlock(&output);
    free(text);
    json_decref(object);
}

static json_t *status_json(const struct pd_switch_status *s)
{
    return json_pack("{s:i,s:s,s:s,s:i,s:i,s:i,s:i,s:i,s:I,s:I,s:I,s:s}", "id", (int)s->id, "state",
                     pd_switch_state_name(s->state), "edge", pd_switch_edge_name(s->edge), "rules",
                     (int)s->rules, "missing", (int)s->missing, "differing", (int)s->differing,
                     "surplus", (int)s->surplus, "blocked", (int)s->blocked, "foreign",
                     (json_int_t)s->foreign, "connects", (json_int_t)s->connects, "packet_ins",
                     (json_int_t)s->packet_ins, "last_error", s->last_error);
}

/* ---- events */

static void on_packet_in(void *context, const struct pd_switches_packet_in *packet)
{
    (void)context;
    char *hex = calloc(1, 2 * packet->bytes + 1);
    for (size_t i = 0; hex && i < packet->bytes; i++) {
        snprintf(hex + 2 * i, 3, "%02x", packet->data[i]);
    }
    print(json_pack("{s:s,s:i,s:i,s:i,s:i,s:s}", "event", "packet_in", "id", (int)packet->switch_id,
                    "in_port", (int)packet->in_port, "reason", (int)packet->reason, "table",
                    (int)packet->table, "data", hex ? hex : ""));
    free(hex);
}

static void on_unknown(void *context, uint64_t datapath_id, const char *peer)
{
    (void)context;
    print(json_pack("{s:s,s:I,s:s}", "event", "unknown", "datapath_id", (json_int_t)datapath_id,
                    "peer", peer));
}

static void on_state(void *context, const struct pd_switch_status *status)
{
    (void)context;
    json_t *object = status_json(status);
    json_object_set_new(object, "event", json_string("state"));
    print(object);
}

/* ---- commands */

static void answer(int failed, const char *key, const char *text)
{
    json_t *object =
        json_pack("{s:o}", "error", failed ? json_string(pd_error_text(failed)) : json_integer(0));
    if (key && !failed) {
        json_object_set_new(object, key, json_string(text));
    }
    print(object);
}

static void do_status(struct pd_switches *switches, const struct pd_topology *topology)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        struct pd_switch_status status;
        pd_switches_status(switches, i, &status);
        json_array_append_new(list, status_json(&status));
    }
    print(json_pack("{s:o}", "switches", list));
}

static void do_counters(struct pd_switches *switches)
{
    json_t *object = json_object();
    for (int i = 0; i < PD_SWITCHES_COUNTER_COUNT; i++) {
        json_object_set_new(object, pd_switches_counter_name(i),
                            json_integer((json_int_t)pd_switches_counter(switches, i)));
    }
    print(object);
}

static void do_changes(struct pd_switches *switches, uint32_t id)
{
    char *text = NULL;
    int failed = pd_switches_changes(switches, id, &text);
    answer(failed, "changes", text);
    free(text);
}

static size_t read_hex(const char *hex, uint8_t *data, size_t room)
{
    size_t bytes = 0;
    unsigned byte;
    for (; bytes < room && sscanf(hex + 2 * bytes, "%2x", &byte) == 1; bytes++) {
        data[bytes] = (uint8_t)byte;
    }
    return bytes;
}

static void do_out(struct pd_switches *switches, const char *line)
{
    static char port[16], hex[8192];
    uint8_t data[4096];
    unsigned id, in_port;
    if (sscanf(line, "out %u %u %15s %8191s", &id, &in_port, port, hex) != 4) {
        exit(2);
    }
    uint32_t out_port =
        strcmp(port, "table") ? (uint32_t)strtoul(port, NULL, 10) : PD_SWITCHES_PORT_TABLE;
    answer(pd_switches_packet_out(switches, id, in_port, out_port, data,
                                  read_hex(hex, data, sizeof data)),
           NULL, NULL);
}

static void obey(struct pd_switches *switches, const struct pd_topology *topology, const char *line)
{
    unsigned id;
    if (!strncmp(line, "status", 6)) {
        do_status(switches, topology);
    } else if (!strncmp(line, "counters", 8)) {
        do_counters(switches);
    } else if (sscanf(line, "changes %u", &id) == 1) {
        do_changes(switches, id);
    } else if (sscanf(line, "check %u", &id) == 1) {
        answer(pd_switches_check(switches, id), NULL, NULL);
    } else {
        do_out(switches, line);
    }
}

int main(int argc, char **argv)
{
    static char line[16384];
    struct pd_topology *topology = NULL;
    struct pd_codec *codec = NULL;
    struct pd_switches *switches = NULL;
    struct pd_error error = {0};
    struct pd_switches_settings settings = {
        .listen = argc > 2 ? argv[2] : "",
        .dry_run = argc > 3 && !strcmp(argv[3], "dry-run"),
        .on_packet_in = on_packet_in,
        .on_unknown = on_unknown,
        .on_state = on_state,
    };
    if (argc < 3 || pd_topology_read(argv[1], &topology, &error) ||
        pd_codec_new(topology, &codec, &error) ||
        pd_switches_open(codec, &settings, &switches, &error)) {
        fprintf(stderr, "drive_switches: %s\n", error.text);
        return 1;
    }
    print(json_pack("{s:s}", "address", pd_switches_address(switches)));
    while (fgets(line, sizeof line, stdin)) {
        obey(switches, topology, line);
    }
    pd_switches_close(switches);
    pd_codec_free(codec);
    pd_topology_free(topology);
    return 0;
}
