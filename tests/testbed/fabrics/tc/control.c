/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: one line each, a key with its value, or `gone` with the key of what is no more. */
#include "switches.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "tables.h"

/*     place SWITCH ADDRESS/BITS = TARGET     where an address belongs: to a rack or host
 *     route SWITCH IN_PORT TARGET = hash|spray|strip|keep PORT[*WEIGHT],… [large TCP_PORT PORT]
 *     tag SWITCH IN_PORT = VID       is written in place of every tag for that port
 *     probes SWITCH PORT = take      from this host's port; no other host's is taken
 *     seed SWITCH = N                of the hash by which flows are spread
 *     address SWITCH PORT = ADDRESS[,ADDRESS]   from which it answers what came in by that port
 *     answers SWITCH = PER_S         no more ICMP errors than that; 0: it is silent
 *     gone place|route|tag|probes|seed|address|answers KEY
 *     counters SWITCH                answers with a line of JSON */

struct command {
    struct tc_switch *sw;
    const char *key;   /* behind the switch */
    const char *value; /* NULL: gone */
    FILE *answer;
    struct pd_error *error;
};

static const char *const modes[ROUTE_MODES] = {"hash", "spray", "strip", "keep"};

static int syntax(const struct command *command, const char *what)
{
    return pd_fail(command->error, -PD_E_SYNTAX, "switch %u: %s: %s = %s", command->sw->id, what,
                   command->key, command->value ? command->value : "");
}

static int store(const struct command *command, const char *table, const void *key,
                 const void *value)
{
    const int fd = tc_table(command->sw, table);
    int r = command->value ? bpf_map_update_elem(fd, key, value, BPF_ANY)
                           : bpf_map_delete_elem(fd, key);

    if (r < 0 && !(r == -ENOENT && !command->value)) {
        return pd_fail(command->error, r, "switch %u: %s: %s", command->sw->id, table,
                       strerror(-r));
    }
    return 0;
}

static int do_place(const struct command *command)
{
    struct tc_place place = {.target = 0};
    struct place_key *key = &place.key;
    char address[INET6_ADDRSTRLEN];
    unsigned bits;
    struct in_addr ipv4;
    bool is_ipv4;
    int err;

    if (sscanf(command->key, "%45[0-9a-f.:]/%u", address, &bits) != 2) {
        return syntax(command, "no prefix");
    }
    is_ipv4 = inet_pton(AF_INET, address, &ipv4) == 1;
    if (is_ipv4) {
        memset(key->addr + 10, 0xff, 2);
        memcpy(key->addr + 12, &ipv4, sizeof(ipv4));
    } else if (inet_pton(AF_INET6, address, key->addr) != 1) {
        return syntax(command, "no address");
    }
    if (bits > (is_ipv4 ? 32 : 128)) {
        return syntax(command, "no prefix");
    }
    key->bits = bits + (is_ipv4 ? 96 : 0);
    if (command->value && sscanf(command->value, "%u", &place.target) != 1) {
        return syntax(command, "no place");
    }
    err = tc_switch_place(command->sw, &place, !command->value);
    return err ? pd_fail(command->error, err, "switch %u: places: %s", command->sw->id,
                         strerror(-err))
               : 0;
}

/* "1*3,2": port 1 with a weight of 3. Returns what is behind, NULL when that cannot be. */
static const char *read_slots(const char *text, struct route *route)
{
    unsigned port, weight;
    int used;

    do {
        weight = 1;
        used = 0;
        if (sscanf(text, "%u%n*%u%n", &port, &used, &weight, &used) < 1 || !port ||
            port >= PORTS_MAX || weight > SLOTS_MAX - route->len) {
            return NULL;
        }
        while (weight--) {
            route->slots[route->len++] = (uint16_t)port;
        }
        text += used;
    } while (*text++ == ',');
    return route->len ? text - 1 : NULL;
}

static bool read_route(const char *text, struct route *route)
{
    char mode[8];
    int used = 0;
    unsigned tcp_port, port;

    if (sscanf(text, "%7s %n", mode, &used) != 1) {
        return false;
    }
    while (route->mode < ROUTE_MODES && strcmp(mode, modes[route->mode]) != 0) {
        route->mode++;
    }
    text = read_slots(text + used, route);
    if (route->mode == ROUTE_MODES || !text) {
        return false;
    }
    if (*text) {
        if (sscanf(text, " large %u %u", &tcp_port, &port) != 2 || !tcp_port ||
            tcp_port > UINT16_MAX || !port || port >= PORTS_MAX) {
            return false;
        }
        route->large_tcp_port = (uint16_t)tcp_port;
        route->large_slot = (uint16_t)port;
    }
    return true;
}

static int do_route(const struct command *command)
{
    struct route_key key;
    struct route route = {0};

    if (sscanf(command->key, "%u %u", &key.in_port, &key.target) != 2 ||
        (key.in_port >= PORTS_MAX && key.in_port != PORT_OWN)) {
        return syntax(command, "no port and target");
    }
    if (command->value && !read_route(command->value, &route)) {
        return syntax(command, "no route");
    }
    return store(command, "routes", &key, &route);
}

/* An array has nothing to delete: 0 is none. */
static int do_tag(const struct command *command)
{
    struct command set = *command;
    uint32_t in_port, vid = 0;

    if (sscanf(command->key, "%u", &in_port) != 1 || in_port >= PORTS_MAX ||
        (command->value && (sscanf(command->value, "%u", &vid) != 1 || !vid || vid > 4094))) {
        return syntax(command, "no tag");
    }
    set.value = "";
    return store(&set, "wrong_tags", &in_port, &vid);
}

static int do_probes(const struct command *command)
{
    const uint32_t refused = !command->value;
    struct command set = *command;
    uint32_t port;

    if (sscanf(command->key, "%u", &port) != 1 || port >= PORTS_MAX ||
        (command->value && strcmp(command->value, "take") != 0)) {
        return syntax(command, "no port of probes");
    }
    set.value = "";
    return store(&set, "probe_refused", &port, &refused);
}

static int do_seed(const struct command *command)
{
    struct command set = *command;
    uint32_t first = 0, seed = 0;

    if (command->value && sscanf(command->value, "%u", &seed) != 1) {
        return syntax(command, "no seed");
    }
    set.value = "";
    return store(&set, "seeds", &first, &seed);
}

/* "10.1.1.1,fd00::1": one of each family at most. */
static bool read_addresses(const char *text, struct tc_address *address)
{
    char word[INET6_ADDRSTRLEN];
    int used;

    do {
        if (sscanf(text, "%45[0-9a-f.:]%n", word, &used) != 1) {
            return false;
        }
        if (inet_pton(AF_INET, word, address->ipv4) == 1) {
            address->has_ipv4 = true;
        } else if (inet_pton(AF_INET6, word, address->ipv6) == 1) {
            address->has_ipv6 = true;
        } else {
            return false;
        }
        text += used;
    } while (*text++ == ',');
    return text[-1] == '\0';
}

static int do_address(const struct command *command)
{
    struct tc_address address = {.has_ipv4 = false};
    uint32_t port;

    if (sscanf(command->key, "%u", &port) != 1 || port >= PORTS_MAX ||
        (command->value && !read_addresses(command->value, &address))) {
        return syntax(command, "no address of a port");
    }
    command->sw->answers.from[port] = address;
    return 0;
}

static int do_answers(const struct command *command)
{
    double per_s = -1;

    if (command->value && (sscanf(command->value, "%lf", &per_s) != 1 || !(per_s >= 0))) {
        return syntax(command, "no number of answers");
    }
    tc_answers_limit(&command->sw->answers, per_s);
    return 0;
}

static int do_counters(const struct command *command)
{
    static const char *const names[] = {
#define X(id, name) name,
        COUNTERS(X)
#undef X
    };

    for (uint32_t i = 0; i < COUNTERS_LEN; i++) {
        uint64_t value = 0;

        bpf_map_lookup_elem(tc_table(command->sw, "counters"), &i, &value);
        fprintf(command->answer, "%s\"%s\": %llu", i ? ", " : "{", names[i],
                (unsigned long long)value);
    }
    fprintf(command->answer, ", \"ttl_exceeded\": %llu}\n",
            (unsigned long long)command->sw->answers.sent);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const struct command *command);
} commands[] = {{"place", do_place},     {"route", do_route},      {"tag", do_tag},
                {"probes", do_probes},   {"seed", do_seed},        {"address", do_address},
                {"answers", do_answers}, {"counters", do_counters}};

static struct tc_switch *find_switch(struct tc_switch *switches, size_t len, unsigned id)
{
    for (size_t i = 0; i < len; i++) {
        if (switches[i].id == id) {
            return &switches[i];
        }
    }
    return NULL;
}

int tc_command(struct tc_switch *switches, size_t switches_len, const char *line, FILE *answer,
               struct pd_error *error)
{
    char name[16];
    unsigned id;
    int gone = 0, used = 0;
    struct command command = {.answer = answer, .error = error};

    sscanf(line, "gone %n", &gone);
    line += gone;
    if (sscanf(line, "%15s %u %n", name, &id, &used) != 2) {
        return pd_fail(error, -PD_E_SYNTAX, "no command: %s", line);
    }
    command.sw = find_switch(switches, switches_len, id);
    command.key = line + used;
    command.value = gone ? NULL : strstr(line, " = ");
    if (command.value) {
        command.value += strlen(" = ");
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && command.sw; i++) {
        if (!strcmp(name, commands[i].name)) {
            if (!gone && !command.value && commands[i].run != do_counters) {
                return syntax(&command, "no value");
            }
            return commands[i].run(&command);
        }
    }
    return pd_fail(error, -PD_E_VALUE, "no such command or switch: %s", line);
}
