/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration of pathdump-switch. */
#include "swx/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Where the reader is, for errors. */
struct reader {
    const char *file;
    struct pd_swx_config *config;
    struct pd_error *error;
    char place[80];
};

static int bad(const struct reader *reader, const char *key, const char *expected)
{
    return pd_fail(reader->error, -PD_E_VALUE, "%s: %s%s%s: expects %s", reader->file,
                   reader->place, *reader->place && *key ? "." : "", key, expected);
}

static int check_keys(const struct reader *reader, json_t *object, const char *const *known)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0) {
            i++;
        }
        if (!known[i]) {
            return pd_fail(reader->error, -PD_E_UNKNOWN_KEY, "%s: %s: unknown key \"%.60s\"",
                           reader->file, reader->place, key);
        }
    }
    return 0;
}

static int read_text(const struct reader *reader, const json_t *object, const char *key,
                     bool needed, const char **ret_text)
{
    const json_t *value = json_object_get(object, key);
    if (!value && !needed) {
        return 0;
    }
    if (!json_is_string(value) || !json_string_length(value)) {
        return bad(reader, key, "a text");
    }
    *ret_text = json_string_value(value);
    return 0;
}

static int read_number(const struct reader *reader, const json_t *object, const char *key,
                       json_int_t least, json_int_t most, uint32_t *ret_number)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most) {
        return bad(reader, key, "a whole number in its bounds");
    }
    *ret_number = (uint32_t)json_integer_value(value);
    return 0;
}

/* ---- ports */

/* NULL, or a text or null. */
static bool read_file_name(const json_t *value, const char **ret_name)
{
    *ret_name = json_string_value(value);
    return json_is_null(value) || (*ret_name && **ret_name);
}

static bool read_number_of(const char **text, unsigned long most, unsigned long *ret_number)
{
    char *end;
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    errno = 0;
    *ret_number = strtoul(*text, &end, 10);
    *text = end;
    return !errno && *ret_number && *ret_number <= most;
}

static int read_to(const struct reader *reader, const char *text, struct pd_swx_port_config *port)
{
    unsigned long id = 0, number = 0;
    bool good = read_number_of(&text, UINT32_MAX, &id) && *text++ == ':' &&
                read_number_of(&text, PD_SWX_PORT_MAX, &number) && !*text;
    for (uint32_t i = 0; good && i < reader->config->switches_len; i++) {
        if (reader->config->switches[i].id == id) {
            port->to_switch = i;
            port->to_port = (uint16_t)number;
            return 0;
        }
    }
    return bad(reader, "to", "SWITCH:PORT of a switch of this file");
}

static int read_port(const struct reader *reader, json_t *value, struct pd_swx_port_config *port)
{
    static const char *const kinds[] = {"pcap", "interface", "tap", "to"};
    const json_t *what = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const json_t *found = json_object_get(value, kinds[i]);
        if (found) {
            what = found;
            port->kind = (enum pd_swx_port_kind)(PD_SWX_CAPTURE + i);
        }
    }
    if (json_object_size(value) != 1 || !what) {
        return bad(reader, "", "one of pcap, interface, tap, to");
    }
    if (port->kind == PD_SWX_CAPTURE) {
        return json_array_size(what) == 2 && read_file_name(json_array_get(what, 0), &port->in) &&
                       read_file_name(json_array_get(what, 1), &port->out)
                   ? 0
                   : bad(reader, "pcap", "[IN|null, OUT|null]");
    }
    port->in = json_string_value(what);
    if (!port->in || !*port->in) {
        return bad(reader, kinds[port->kind - PD_SWX_CAPTURE], "a text");
    }
    return port->kind == PD_SWX_TO ? read_to(reader, port->in, port) : 0;
}

static int read_ports(struct reader *reader, json_t *ports, struct pd_swx_config_switch *sw)
{
    const size_t place_len = strlen(reader->place);
    const char *key;
    json_t *value;
    int err = 0;
    if (!json_is_object(ports)) {
        return bad(reader, "ports", "an object");
    }
    json_object_foreach(ports, key, value)
    {
        const char *text = key;
        unsigned long number = 0;
        snprintf(reader->place + place_len, sizeof reader->place - place_len, ".ports.%.20s", key);
        if (!read_number_of(&text, PD_SWX_PORT_MAX, &number) || *text) {
            return bad(reader, "", "a port from 1 to 255");
        }
        sw->ports_max = number > sw->ports_max ? (uint32_t)number : sw->ports_max;
        err = read_port(reader, value, &sw->ports[number]);
        if (err) {
            return err;
        }
    }
    reader->place[place_len] = '\0';
    return 0;
}

/* ---- switches */

/* Ports may lead to switches that come later: IDs first. */
static int read_switch(struct reader *reader, json_t *value, struct pd_swx_config_switch *sw)
{
    static const char *const known[] = {"id",         "program", "spec",  "tables",
                                        "icmp_per_s", "punts",   "ports", NULL};
    int err = check_keys(reader, value, known);
    err = err ? err : read_text(reader, value, "program", true, &sw->program);
    err = err ? err : read_text(reader, value, "spec", false, &sw->spec);
    err = err ? err : read_text(reader, value, "tables", true, &sw->tables);
    err = err ? err : read_text(reader, value, "punts", false, &sw->punts);
    sw->icmp_per_s = PD_SWX_ICMP_PER_S;
    if (!err && json_object_get(value, "icmp_per_s")) {
        err = read_number(reader, value, "icmp_per_s", 0, 1000000, &sw->icmp_per_s);
    }
    return err ? err : read_ports(reader, json_object_get(value, "ports"), sw);
}

static int read_id(const struct reader *reader, json_t *value, uint32_t nth)
{
    struct pd_swx_config_switch *switches = reader->config->switches;
    int err = json_is_object(value) ? 0 : bad(reader, "", "an object");
    err = err ? err : read_number(reader, value, "id", 1, UINT32_MAX, &switches[nth].id);
    for (uint32_t i = 0; i < nth && !err; i++) {
        err =
            switches[i].id == switches[nth].id ? bad(reader, "id", "an ID that is given once") : 0;
    }
    return err;
}

static int read_switches(struct reader *reader, json_t *list)
{
    struct pd_swx_config *config = reader->config;
    const size_t len = json_array_size(list);
    int err = 0;
    if (!len || len > PD_SWX_SWITCHES_MAX) {
        return bad(reader, "switches", "a list of 1 to 1024 switches");
    }
    config->switches = calloc(len, sizeof *config->switches);
    if (!config->switches) {
        return pd_fail(reader->error, -ENOMEM, "no memory");
    }
    for (config->switches_len = 0; config->switches_len < len && !err; config->switches_len++) {
        snprintf(reader->place, sizeof reader->place, "switches[%u]", config->switches_len);
        err = read_id(reader, json_array_get(list, config->switches_len), config->switches_len);
    }
    for (uint32_t i = 0; i < len && !err; i++) {
        snprintf(reader->place, sizeof reader->place, "switches[%u]", i);
        err = read_switch(reader, json_array_get(list, i), &config->switches[i]);
    }
    return err;
}

/* A ring needs a port at its other end, which frames then come in by. */
static int check_ring(struct reader *reader, const struct pd_swx_port_config *port)
{
    const struct pd_swx_config_switch *other = &reader->config->switches[port->to_switch];
    return port->to_port <= other->ports_max && other->ports[port->to_port].kind
               ? 0
               : bad(reader, "to", "a port that the other switch has");
}

static int check_ports(struct reader *reader)
{
    struct pd_swx_config *config = reader->config;
    int err = 0;
    config->captures = true;
    for (uint32_t i = 0; i < config->switches_len && !err; i++) {
        for (uint32_t p = 1; p <= config->switches[i].ports_max && !err; p++) {
            const struct pd_swx_port_config *port = &config->switches[i].ports[p];
            snprintf(reader->place, sizeof reader->place, "switches[%u].ports.%u", i, p);
            config->captures &= port->kind != PD_SWX_INTERFACE && port->kind != PD_SWX_TAP;
            err = port->kind == PD_SWX_TO ? check_ring(reader, port) : 0;
        }
    }
    return err;
}

static int read_all(struct reader *reader)
{
    static const char *const known[] = {"control", "switches", NULL};
    json_t *root = reader->config->json;
    if (!json_is_object(root)) {
        return bad(reader, "", "an object");
    }
    int err = check_keys(reader, root, known);
    err = err ? err : read_text(reader, root, "control", false, &reader->config->control);
    err = err ? err : read_switches(reader, json_object_get(root, "switches"));
    return err ? err : check_ports(reader);
}

int pd_swx_config_read(const char *file, struct pd_swx_config *ret_config, struct pd_error *error)
{
    json_error_t words;
    struct pd_swx_config config = {.json = json_load_file(file, JSON_REJECT_DUPLICATES, &words)};
    struct reader reader = {.file = file, .config = &config, .error = error};
    if (!config.json) {
        return words.line > 0
                   ? pd_fail(error, -PD_E_SYNTAX, "%s:%d: %s", file, words.line, words.text)
                   : pd_fail(error, -PD_E_SYNTAX, "%s", words.text);
    }
    int err = read_all(&reader);
    if (err) {
        pd_swx_config_done(&config);
        return err;
    }
    *ret_config = config;
    return 0;
}

void pd_swx_config_done(struct pd_swx_config *config)
{
    free(config->switches);
    json_decref(config->json);
    *config = (struct pd_swx_config){.json = NULL};
}
