/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of intake that there are, and the calls that pass on to them. */
#include <stdio.h>
#include <string.h>

#include "intake/intake.h"
#include "intake/live/live.h"
#include "intake/ovs/ovs.h"
#include "intake/pcap/pcap.h"
#include "intake/report/report.h"
#include "pd_extensions.h"

#define X(symbol) extern const struct pd_intake_ops symbol;
PD_EXTENSION_INTAKE(X)
#undef X

const struct pd_intake_ops *const pd_intakes[] = {
    &pd_intake_pcap,
    &pd_intake_live,
    &pd_intake_ovs,
    &pd_intake_report,
#define X(symbol) &(symbol),
    PD_EXTENSION_INTAKE(X)
#undef X
        NULL,
};

static int unknown_kind(const char *spec, struct pd_error *error)
{
    char known[200] = "";
    size_t at = 0;

    for (size_t i = 0; pd_intakes[i] && at < sizeof known; i++) {
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s:%s", i ? " or " : "",
                               pd_intakes[i]->kind, pd_intakes[i]->argument);
    }
    return pd_fail(error, -PD_E_VALUE, "intake: expects %s, not \"%.100s\"", known, spec);
}

int pd_intake_find(const char *spec, const struct pd_intake_ops **ret_ops,
                   const char **ret_argument, struct pd_error *error)
{
    const size_t len = strcspn(spec, ":");

    for (size_t i = 0; spec[len] && spec[len + 1] && pd_intakes[i]; i++) {
        if (strlen(pd_intakes[i]->kind) == len && !strncmp(spec, pd_intakes[i]->kind, len)) {
            *ret_ops = pd_intakes[i];
            if (ret_argument) {
                *ret_argument = spec + len + 1;
            }
            return 0;
        }
    }
    return unknown_kind(spec, error);
}

int pd_intake_open(const char *spec, const struct pd_intake_config *config,
                   const struct pd_trajectory_sink *sink, struct pd_intake **ret_intake,
                   struct pd_error *error)
{
    const struct pd_intake_ops *ops;
    const char *argument;
    int err = pd_intake_find(spec, &ops, &argument, error);

    return err ? err : ops->open(argument, config, sink, ret_intake, error);
}

int pd_intake_poll(struct pd_intake *intake, int timeout_ms)
{
    return intake->ops->poll(intake, timeout_ms);
}

size_t pd_intake_flush(struct pd_intake *intake)
{
    return intake->ops->flush(intake);
}

void pd_intake_walk(struct pd_intake *intake,
                    void (*visit)(void *context, const struct pd_trajectory_record *record),
                    void *context)
{
    intake->ops->walk(intake, visit, context);
}

void pd_intake_status(const struct pd_intake *intake, struct pd_intake_status *ret_status)
{
    intake->ops->status(intake, ret_status);
    ret_status->kind = intake->ops->kind;
    ret_status->can = intake->ops->can;
}

bool pd_intake_keeps(const struct pd_intake *intake)
{
    return intake->ops->positions != NULL;
}

void pd_intake_positions(struct pd_intake *intake,
                         void (*visit)(void *context, uint64_t key, uint64_t position),
                         void *context)
{
    if (intake->ops->positions) {
        intake->ops->positions(intake, visit, context);
    }
}

void pd_intake_committed(struct pd_intake *intake, uint64_t key, uint64_t position)
{
    if (intake->ops->committed) {
        intake->ops->committed(intake, key, position);
    }
}

void pd_intake_close(struct pd_intake *intake)
{
    if (intake) {
        intake->ops->close(intake);
    }
}

const char *pd_intake_state_id(enum pd_intake_state state)
{
    switch (state) {
    case PD_INTAKE_WAITING: return "waiting";
    case PD_INTAKE_RUNNING: return "running";
    case PD_INTAKE_FINISHED: return "finished";
    case PD_INTAKE_FAILED: return "failed";
    }
    return "unknown";
}
