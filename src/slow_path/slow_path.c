/* SPDX-License-Identifier: Apache-2.0 */
/* Punts written down and limited, and answered where they died of their TTL. */
#include "slow_path/slow_path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

struct pd_slow_path {
    uint32_t switch_id;
    FILE *punts;
    struct pd_slow_path_rate icmp, lines;
    bool lines_limited;
    uint64_t unwritten;
    struct {
        struct pd_addr v4, v6;
        bool has_v4, has_v6;
    } addresses[PD_SLOW_PATH_PORTS];
};

/* An event costs a second divided by their number; a second's worth may be kept. */
bool pd_slow_path_rate_take(struct pd_slow_path_rate *rate, uint64_t now_ns)
{
    if (!rate->per_s) {
        return false;
    }
    const uint64_t cost_ns = NS_PER_S / rate->per_s;
    const uint64_t passed_ns = now_ns > rate->last_ns ? now_ns - rate->last_ns : 0;
    if (!rate->begun || passed_ns >= NS_PER_S - rate->credit_ns) {
        rate->credit_ns = NS_PER_S;
    } else {
        rate->credit_ns += passed_ns;
    }
    rate->begun = true;
    rate->last_ns = now_ns > rate->last_ns ? now_ns : rate->last_ns;
    if (rate->credit_ns < cost_ns) {
        return false;
    }
    rate->credit_ns -= cost_ns;
    return true;
}

int pd_slow_path_open(const struct pd_slow_path_config *config, struct pd_slow_path **ret_path,
                      struct pd_error *error)
{
    struct pd_slow_path *path = calloc(1, sizeof *path);
    if (!path) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    path->switch_id = config->switch_id;
    path->icmp.per_s = config->icmp_per_s;
    path->lines.per_s = config->lines_per_s;
    path->lines_limited = config->lines_per_s;
    path->punts = config->punts ? fopen(config->punts, "ae") : NULL;
    if (config->punts && !path->punts) {
        int err = -errno;
        free(path);
        return pd_fail(error, err, "%s: %s", config->punts, strerror(-err));
    }
    *ret_path = path;
    return 0;
}

void pd_slow_path_close(struct pd_slow_path *path)
{
    if (path && path->punts) {
        fclose(path->punts);
    }
    free(path);
}

void pd_slow_path_set_address(struct pd_slow_path *path, uint16_t port, uint8_t ip_version,
                              const struct pd_addr *addr)
{
    if (port < PD_SLOW_PATH_PORTS && ip_version == 4) {
        path->addresses[port].v4 = *addr;
        path->addresses[port].has_v4 = true;
    } else if (port < PD_SLOW_PATH_PORTS) {
        path->addresses[port].v6 = *addr;
        path->addresses[port].has_v6 = true;
    }
}

/* ---- addresses */

static void put_number(struct pd_addr *addr, unsigned at, unsigned bytes, uint64_t value)
{
    for (unsigned i = bytes; i--; value >>= 8) {
        addr->bytes[at + i] = (uint8_t)value;
    }
}

static bool read_address(struct pd_slow_path *path, const char *line)
{
    unsigned v4;
    int port; /* as the tables' rows have it: 0x1, or 1 */
    uint64_t hi, lo;
    struct pd_addr addr = {{0}};
    int end = 0;
    if (sscanf(line, " match %i action address v4 %x v6_hi %" SCNx64 " v6_lo %" SCNx64 " %n", &port,
               &v4, &hi, &lo, &end) != 4 ||
        line[end] || port <= 0 || port >= (int)PD_SLOW_PATH_PORTS) {
        return false;
    }
    if (v4) {
        put_number(&addr, 0, 4, v4);
        pd_slow_path_set_address(path, (uint16_t)port, 4, &addr);
    }
    if (hi || lo) {
        put_number(&addr, 0, 8, hi);
        put_number(&addr, 8, 8, lo);
        pd_slow_path_set_address(path, (uint16_t)port, 6, &addr);
    }
    return true;
}

int pd_slow_path_read_addresses(struct pd_slow_path *path, const char *file, struct pd_error *error)
{
    FILE *in = fopen(file, "re");
    char line[200];
    int err = 0;
    if (!in) {
        return errno == ENOENT ? 0 : pd_fail(error, -errno, "%s: %s", file, strerror(errno));
    }
    for (unsigned number = 1; !err && fgets(line, sizeof line, in); number++) {
        if (!read_address(path, line)) {
            err = pd_fail(error, -PD_E_VALUE,
                          "%s:%u: expects match PORT action address v4 0x… v6_hi 0x… v6_lo 0x…",
                          file, number);
        }
    }
    fclose(in);
    return err;
}

/* ---- punts */

int pd_slow_path_write(FILE *out, uint32_t switch_id, const struct pd_slow_path_punt *punt)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 * PD_SLOW_PATH_FRAME_BYTES + 1];
    size_t bytes = punt->bytes < PD_SLOW_PATH_FRAME_BYTES ? punt->bytes : PD_SLOW_PATH_FRAME_BYTES;
    for (size_t i = 0; i < bytes; i++) {
        hex[2 * i] = digits[punt->frame[i] >> 4];
        hex[2 * i + 1] = digits[punt->frame[i] & 15];
    }
    hex[2 * bytes] = '\0';
    fprintf(out,
            "{\"switch\": %" PRIu32 ", \"in_port\": %u, \"time_us\": %" PRIu64
            ", \"reason\": \"%s\", \"frame\": \"%s\"}\n",
            switch_id, punt->in_port, punt->time_ns / 1000, punt->reason, hex);
    return fflush(out) ? -errno : 0;
}

static void write_down(struct pd_slow_path *path, const struct pd_slow_path_punt *punt)
{
    if ((path->lines_limited && !pd_slow_path_rate_take(&path->lines, punt->time_ns)) ||
        (path->punts && pd_slow_path_write(path->punts, path->switch_id, punt))) {
        path->unwritten++;
    }
}

size_t pd_slow_path_take(struct pd_slow_path *path, const struct pd_slow_path_punt *punt,
                         uint8_t answer[PD_SLOW_PATH_ANSWER_BYTES])
{
    const uint16_t port = punt->in_port < PD_SLOW_PATH_PORTS ? punt->in_port : 0;
    write_down(path, punt);
    if (strcmp(punt->reason, PD_SLOW_PATH_TTL) != 0) {
        return 0;
    }
    size_t bytes = pd_slow_path_time_exceeded(
        punt->frame, punt->bytes, path->addresses[port].has_v4 ? &path->addresses[port].v4 : NULL,
        path->addresses[port].has_v6 ? &path->addresses[port].v6 : NULL, answer);
    return bytes && pd_slow_path_rate_take(&path->icmp, punt->time_ns) ? bytes : 0;
}

uint64_t pd_slow_path_unwritten(const struct pd_slow_path *path)
{
    return path->unwritten;
}
