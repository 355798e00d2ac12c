/* SPDX-License-Identifier: Apache-2.0 */
/* A toy intake: N records of one packet each, toy:N. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "intake/intake.h"

struct toy {
    struct pd_intake head;
    struct pd_trajectory_sink sink;
    uint64_t left, given, bytes;
    bool twice;
};

struct options {
    bool twice;
};

static const struct pd_option rows[] = {
    {"intake", "toy-twice", PD_OPTION_FLAG, offsetof(struct options, twice), 0, 0, NULL, NULL,
     "toy: each record stands for two packets", NULL},
    {0},
};

extern const struct pd_intake_ops toy_intake;

static int toy_open(const char *argument, const struct pd_intake_config *config,
                    const struct pd_trajectory_sink *sink, struct pd_intake **ret_intake,
                    struct pd_error *error)
{
    const struct options *options = config->options;
    struct toy *toy = calloc(1, sizeof *toy);

    if (!toy) {
        return pd_fail(error, -ENOMEM, "toy: no memory");
    }
    toy->head.ops = &toy_intake;
    toy->sink = *sink;
    toy->left = strtoull(argument, NULL, 10);
    toy->twice = options && options->twice;
    *ret_intake = &toy->head;
    return 0;
}

static void toy_close(struct pd_intake *intake)
{
    free(intake);
}

/* Within a rack no tags are needed: 10.0.0.3 is in the rack of 10.0.0.2 (fat-tree, k = 4). */
static int toy_poll(struct pd_intake *intake, int timeout_ms)
{
    struct toy *toy = (struct toy *)intake;

    (void)timeout_ms;
    for (; toy->left; toy->left--, toy->given++) {
        struct pd_trajectory_record record = {
            .eviction = PD_EVICTION_FIN,
            .pkts = toy->twice ? 2 : 1,
            .bytes = 100,
            .first_ns = pd_clock_wall_us() * 1000,
            .last_ns = pd_clock_wall_us() * 1000,
        };
        uint8_t version;

        pd_addr_parse("10.0.0.3", &record.flow.src, &version);
        pd_addr_parse("10.0.0.2", &record.flow.dst, &version);
        record.flow.ip_version = 4;
        record.flow.protocol = 17;
        record.flow.src_port = (uint16_t)toy->left;
        if (!toy->sink.evicted(toy->sink.context, &record)) {
            return 0;
        }
    }
    return -PD_E_EOF;
}

static size_t toy_flush(struct pd_intake *intake)
{
    (void)intake;
    return 0;
}

static void toy_walk(struct pd_intake *intake,
                     void (*visit)(void *context, const struct pd_trajectory_record *record),
                     void *context)
{
    (void)intake;
    (void)visit;
    (void)context;
}

static void toy_status(const struct pd_intake *intake, struct pd_intake_status *ret_status)
{
    const struct toy *toy = (const struct toy *)intake;

    *ret_status = (struct pd_intake_status){
        .state = toy->left ? PD_INTAKE_RUNNING : PD_INTAKE_FINISHED, .frames = toy->given};
}

const struct pd_intake_ops toy_intake = {
    .kind = "toy",
    .argument = "N",
    .source = "toy",
    .options = rows,
    .options_bytes = sizeof(struct options),
    .open = toy_open,
    .close = toy_close,
    .poll = toy_poll,
    .flush = toy_flush,
    .walk = toy_walk,
    .status = toy_status,
};
