/* SPDX-License-Identifier: Apache-2.0 */
/* Topology, capture, TIB and pipeline for tests. */
#include "fixture.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/rest.h"
#include "base/clock.h"
#include "tests/shared/folder.h"
#include "topology/topology.h"

enum { IP_BYTES = 100, START_S = 1700000000 };

static void write_topology(const char *name)
{
    struct pd_topology *topology;
    FILE *out = fopen(name, "we");

    assert_non_null(out);
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    assert_int_equal(pd_topology_write(topology, out), 0);
    pd_topology_free(topology);
    fclose(out);
}

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Ethernet, perhaps one tag, IPv4 10.1.1.2 -> 10.1.1.3, UDP. Returns the length of the frame. */
static size_t make_frame(uint8_t frame[150], unsigned src_port, bool tagged)
{
    static const uint8_t addrs[] = {10, 1, 1, 2, 10, 1, 1, 3};
    uint8_t *ip = frame + (tagged ? 18 : 14);

    memset(frame, 0, 150);
    if (tagged) {
        put16(frame + 12, 0x8100);
        put16(frame + 14, 4000);
    }
    put16(ip - 2, 0x0800);
    ip[0] = 0x45;
    put16(ip + 2, IP_BYTES);
    ip[8] = 64;
    ip[9] = 17;
    memcpy(ip + 12, addrs, sizeof addrs);
    put16(ip + 20, src_port);
    put16(ip + 22, 80);
    put16(ip + 24, IP_BYTES - 20);
    return (size_t)(ip - frame) + IP_BYTES;
}

static void write_capture(const char *name, unsigned pkts, unsigned flows, unsigned odd)
{
    static const uint32_t head[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 1};
    FILE *out = fopen(name, "we");
    uint8_t frame[150];

    assert_non_null(out);
    fwrite(head, sizeof head, 1, out);
    for (unsigned i = 0; i < pkts; i++) {
        size_t len = make_frame(frame, 1024 + i % flows, odd && i % flows % odd == 0);
        uint32_t record[] = {START_S + i / 1000, i % 1000 * 1000, (uint32_t)len, (uint32_t)len};

        fwrite(record, sizeof record, 1, out);
        fwrite(frame, len, 1, out);
    }
    assert_int_equal(fclose(out), 0);
}

void fixture_init(struct fixture *fixture, unsigned pkts, unsigned flows, unsigned odd)
{
    memset(fixture, 0, sizeof *fixture);
    snprintf(fixture->folder, sizeof fixture->folder, "/tmp/pd-agent-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->topology, sizeof fixture->topology, "%s/topology.json", fixture->folder);
    snprintf(fixture->capture, sizeof fixture->capture, "%s/in.pcap", fixture->folder);
    snprintf(fixture->tib, sizeof fixture->tib, "%s/tib", fixture->folder);
    write_topology(fixture->topology);
    write_capture(fixture->capture, pkts, flows, odd);
}

static const struct pd_daemon_admission_limits turns_limits = {PD_AGENT_QUERIES_MAX, 16, 16};

void fixture_start(struct fixture *fixture)
{
    struct pd_agent *agent = &fixture->agent;
    struct pd_tib_config tib_config = {0};
    struct pd_pipeline_config config = {
        .intake_config = {.trajectory = {.idle_ns = 20 * PD_NS_PER_MS,
                                         .active_ns = 60 * PD_NS_PER_S,
                                         .fin_linger_ns = 0,
                                         .max_records = 65536}},
        .alarms = NULL,
        .counters = &agent->counters,
    };
    char spec[120];

    snprintf(spec, sizeof spec, "pcap:%s", fixture->capture);
    config.intakes = (struct pd_option_list){1, {spec}};
    snprintf(agent->host, sizeof agent->host, "host");
    agent->started_ns = pd_clock_monotonic_ns();
    assert_int_equal(pd_alarms_new(&agent->alarms), 0);
    assert_int_equal(pd_daemon_admission_new(&turns_limits, &agent->query_turns), 0);
    assert_int_equal(pd_daemon_admission_new(&turns_limits, &agent->program_turns), 0);
    assert_int_equal(pd_programs_new(PD_BIN_DIR "/pathdump-program", &agent->programs), 0);
    agent->program_limits = (struct pd_program_limits){PD_PROGRAM_INSTRUCTIONS_DEFAULT,
                                                       PD_PROGRAM_MEMORY_DEFAULT_BYTES, 0};
    agent->program_time_ns = 10 * PD_NS_PER_S;
    config.alarms = agent->alarms;
    assert_int_equal(pd_agent_model_load(fixture->topology, &config.model, NULL), 0);
    assert_int_equal(pd_tib_open(fixture->tib, PD_TIB_WRITE, &tib_config, &agent->tib, NULL), 0);
    config.tib = agent->tib;
    assert_int_equal(pd_agent_pipeline_open(&config, &agent->pipeline, NULL), 0);
    assert_int_equal(pd_agent_pipeline_start(agent->pipeline), 0);
}

void fixture_wait_end(struct fixture *fixture)
{
    struct pollfd end = {.fd = pd_agent_pipeline_ended_fd(fixture->agent.pipeline),
                         .events = POLLIN};

    assert_int_equal(poll(&end, 1, 60000), 1);
}

void fixture_ask(struct pd_agent *agent, const char *method, const char *target,
                 struct pd_answer *answer)
{
    pd_http_answer_init(answer);
    pd_agent_rest_answer(agent,
                         &(struct pd_http_request){.role = PD_ROLE_ADMIN,
                                                   .method = method,
                                                   .target = target,
                                                   .target_bytes = strlen(target),
                                                   .body = ""},
                         answer);
}

void fixture_done(struct fixture *fixture)
{
    if (fixture->agent.pipeline) {
        pd_agent_pipeline_stop(fixture->agent.pipeline);
    }
    pd_agent_pipeline_free(fixture->agent.pipeline);
    pd_tib_close(fixture->agent.tib);
    pd_alarms_free(fixture->agent.alarms);
    pd_programs_free(fixture->agent.programs);
    pd_daemon_admission_free(fixture->agent.query_turns);
    pd_daemon_admission_free(fixture->agent.program_turns);
    folder_remove(fixture->folder);
}
