/* SPDX-License-Identifier: Apache-2.0 */
/* The host, and what tests do with a list again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "installed_fixture.h"
#include "topology/topology.h"

static char folder[] = "/tmp/pd-installed-XXXXXX";
static char topology[64];
char file[64], damaged[80];
struct pd_model *model;
struct pd_installed *installed;

struct our_host host;
static int enter(struct pd_error *error)
{
    assert_true(atomic_fetch_add(&host.at_once, 1) < PD_INSTALLED_WORKERS);
    if (host.run_ms) {
        poll(NULL, 0, (int)host.run_ms);
    }
    atomic_fetch_sub(&host.at_once, 1);
    return host.fail_with ? pd_fail(error, host.fail_with, "it went wrong") : 0;
}

static int query(void *context, const struct pd_query *asked, const struct pd_query_sink *sink,
                 struct pd_error *error)
{
    int err = enter(error);

    assert_ptr_equal(context, &host);
    pthread_mutex_lock(&host.lock);
    host.queries++;
    host.all_flow = asked->filter.flow.fields == PD_FLOW_ALL;
    pthread_mutex_unlock(&host.lock);
    return err ? err : sink->write(sink->context, ANSWER, strlen(ANSWER));
}

void tell_installed(const char *reason)
{
    pd_installed_alarmed(installed, NULL, json_pack("{s:s}", "reason", reason));
}

static int program(void *context, const char *by, const char *source, json_t *args,
                   uint64_t deadline_ns, json_t **ret_result, uint64_t *ret_alarms,
                   struct pd_error *error)
{
    int err = enter(error);

    (void)context;
    (void)by;
    if (host.program_ms) {
        poll(NULL, 0, (int)host.program_ms);
    }
    assert_non_null(strstr(source, "function run"));
    assert_true(deadline_ns > pd_clock_monotonic_ns());
    pthread_mutex_lock(&host.lock);
    host.programs++;
    json_decref(host.event);
    host.event = json_deep_copy(json_object_get(args, "event"));
    pthread_mutex_unlock(&host.lock);
    if (host.echo) {
        *ret_alarms = 1;
        tell_installed("ECHO");
    }
    if (!err) {
        *ret_result = json_integer(7);
    }
    return err;
}

static int violations(void *context, const struct pd_query *asked, pd_installed_found *found,
                      void *found_context, char *ret_token, struct pd_error *error)
{
    const struct pd_path path = {.len = 2, .switches = {1, 9}};
    const struct pd_tib_record record = {.flow = {.ip_version = 4, .src_port = 5}, .path = &path};
    int err = enter(error);

    (void)context;
    pthread_mutex_lock(&host.lock);
    snprintf(host.since, sizeof host.since, "%.60s", asked->since);
    snprintf(ret_token, PD_QUERY_TOKEN_BYTES, "token%u", ++host.searches);
    pthread_mutex_unlock(&host.lock);
    return err ? err : found(found_context, &record, "avoid");
}

static void alarm_raised(void *context, const struct pd_installed_alarm *alarm)
{
    (void)context;
    pthread_mutex_lock(&host.lock);
    if (!strcmp(alarm->reason, "QUERY_STOPPED")) {
        host.stops++;
        assert_non_null(strstr(alarm->detail, "5 times"));
    } else {
        assert_string_equal(alarm->reason, "PC_FAIL");
        host.alarms++;
        host.flow = *alarm->flow;
        host.path = *alarm->path;
        snprintf(host.rule, sizeof host.rule, "%.*s", (int)strcspn(alarm->detail, " "),
                 alarm->detail);
    }
    pthread_mutex_unlock(&host.lock);
}

unsigned seen(const unsigned *number)
{
    pthread_mutex_lock(&host.lock);
    unsigned value = *number;
    pthread_mutex_unlock(&host.lock);
    return value;
}

void wait_for(const unsigned *number, unsigned value)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + PATIENT_NS;

    while (seen(number) < value) {
        assert_true(pd_clock_monotonic_ns() < until_ns);
        poll(NULL, 0, 1);
    }
}

/* ---- life ---- */

void open_list(void)
{
    const struct pd_installed_host ours = {&host, query, program, violations, alarm_raised, NULL};
    struct pd_error error = {0};

    assert_int_equal(pd_installed_new(file, &ours, model, &installed, &error), 0);
}

void close_list(void)
{
    pd_installed_stop(installed);
    pd_installed_free(installed);
    installed = NULL;
}

int set_up(void **state)
{
    (void)state;
    memset(&host, 0, sizeof host);
    pthread_mutex_init(&host.lock, NULL);
    open_list();
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    close_list();
    json_decref(host.event);
    unlink(file);
    unlink(damaged);
    return 0;
}

int set_up_all(void **state)
{
    struct pd_topology *fat_tree;
    FILE *out;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/installed.json", folder);
    snprintf(damaged, sizeof damaged, "%s.damaged", file);
    snprintf(topology, sizeof topology, "%s/topology.json", folder);
    out = fopen(topology, "we");
    assert_non_null(out);
    assert_int_equal(pd_topology_fat_tree(4, &fat_tree, NULL), 0);
    assert_int_equal(pd_topology_write(fat_tree, out), 0);
    pd_topology_free(fat_tree);
    fclose(out);
    return pd_agent_model_load(topology, &model, NULL);
}

int tear_down_all(void **state)
{
    (void)state;
    pd_agent_model_free(model);
    unlink(topology);
    return rmdir(folder);
}

/* ---- helpers ---- */

int try_add(const char *body, uint64_t *ret_id, struct pd_error *error)
{
    json_t *json = json_loads(body, 0, NULL);
    int err;

    assert_non_null(json);
    err = pd_installed_add(installed, json, ret_id, error);
    json_decref(json);
    return err;
}

uint64_t add(const char *body)
{
    struct pd_error error = {0};
    uint64_t id = 0;

    if (try_add(body, &id, &error)) {
        fail_msg("%s: %s", body, error.text);
    }
    return id;
}

json_t *get(uint64_t id)
{
    json_t *got = NULL;

    assert_int_equal(pd_installed_get(installed, id, &got), 0);
    return got;
}

json_int_t number_of(uint64_t id, const char *name)
{
    json_t *got = get(id);
    json_int_t number = json_integer_value(json_object_get(got, name));

    json_decref(got);
    return number;
}

size_t list_len(void)
{
    json_t *list = pd_installed_list(installed);
    size_t len = json_array_size(json_object_get(list, "installed"));

    json_decref(list);
    return len;
}
