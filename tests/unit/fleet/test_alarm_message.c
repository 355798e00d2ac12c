/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms as JSON: there and back, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fleet/alarm_message.h"

static struct pd_alarm_message make(void)
{
    struct pd_alarm_message message = {.time_us = 1700000000000000,
                                       .reason = "PC_FAIL",
                                       .flow = {.src_port = 1, .dst_port = 65535, .protocol = 6},
                                       .detail = "\"words\" \xc3\xa9",
                                       .paths_len = 2};

    assert_int_equal(pd_addr_parse("fd00::1", &message.flow.src, &message.flow.ip_version), 0);
    assert_int_equal(pd_addr_parse("fd00::2", &message.flow.dst, &message.flow.ip_version), 0);
    message.paths[0] = (struct pd_path){.len = 3, .switches = {1, 9, UINT32_MAX}};
    message.paths[1] = (struct pd_path){.len = 1, .switches = {4}};
    return message;
}

/* Both ways of writing give the same; NULL: that of the tree. */
static void same_as_text(const struct pd_alarm_message *message, const json_t *wanted)
{
    char text[PD_ALARM_MESSAGE_MAX_BYTES + 1] = "{";
    size_t len = pd_fleet_alarm_message_text(message, text + 1);
    json_t *tree = pd_fleet_alarm_message_json(message);
    json_t *read = json_loadb(text, len + 1, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(read);
    assert_true(json_equal(read, wanted ? wanted : tree));
    json_decref(read);
    json_decref(tree);
}

static void test_there_and_back(void **state)
{
    struct pd_alarm_message message = make(), back;
    json_t *object = pd_fleet_alarm_message_json(&message);
    uint64_t seq = 0;

    (void)state;
    assert_int_equal(pd_fleet_alarm_message_read(object, NULL, &back, NULL, NULL), 0);
    assert_int_equal(back.time_us, message.time_us);
    assert_string_equal(back.reason, message.reason);
    assert_string_equal(back.detail, message.detail);
    assert_memory_equal(&back.flow, &message.flow, sizeof back.flow);
    assert_int_equal(back.paths_len, 2);
    assert_memory_equal(back.paths, message.paths, 2 * sizeof back.paths[0]);
    assert_int_equal(pd_fleet_alarm_message_read(object, "seq", &back, &seq, NULL), -PD_E_VALUE);
    json_object_set_new(object, "seq", json_integer(7));
    assert_int_equal(pd_fleet_alarm_message_read(object, "seq", &back, &seq, NULL), 0);
    assert_int_equal(seq, 7);
    json_object_del(object, "seq");
    same_as_text(&message, object);
    memset(&message.flow, 0, sizeof message.flow);
    memcpy(message.detail, "\x01\x1f\"\\/\x7f", 7);
    message.paths_len = 0;
    same_as_text(&message, NULL);
    json_object_set_new(object, "seq", json_integer(7));
    assert_int_equal(pd_fleet_alarm_message_read(object, NULL, &back, NULL, NULL), -PD_E_VALUE);
    json_decref(object);
}

/* Whatever fills it: within the bound. */
static void test_longest(void **state)
{
    struct pd_alarm_message message = make();
    char *text;
    json_t *object;

    (void)state;
    memset(message.detail, 1, sizeof message.detail - 1);
    message.detail[sizeof message.detail - 1] = '\0';
    memset(message.reason, 'A', sizeof message.reason - 1);
    message.time_us = PD_ALARM_MESSAGE_MAX_US;
    message.paths_len = PD_ALARM_PATHS_MAX;
    for (unsigned i = 0; i < PD_ALARM_PATHS_MAX; i++) {
        message.paths[i].len = PD_PATH_MAX;
        memset(message.paths[i].switches, 255, sizeof message.paths[i].switches);
    }
    object = pd_fleet_alarm_message_json(&message);
    text = json_dumps(object, JSON_COMPACT);
    assert_in_range(strlen(text), 1000, PD_ALARM_MESSAGE_MAX_BYTES - 100);
    same_as_text(&message, object);
    free(text);
    json_decref(object);
}

#define FLOW                                                                                       \
    "{\"src_ip\":\"10.0.0.1\",\"dst_ip\":\"10.0.0.2\",\"src_port\":1,\"dst_port\":2,\"protocol\":" \
    "6}"

static const char *const refused[] = {
    "[]",
    "{}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":null,\"paths\":[],\"detail\":\"\",\"x\":1}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":null,\"paths\":[],\"x\":\"\"}",
    "{\"time_us\":-1,\"reason\":\"A\",\"flow_id\":null,\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":9007199254740992,\"reason\":\"A\",\"flow_id\":null,\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":1.5,\"reason\":\"A\",\"flow_id\":null,\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"a\",\"flow_id\":null,\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"\",\"flow_id\":null,\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\\u0000\",\"flow_id\":null,\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\",\"flow_id\":null,\"paths\":[],"
    "\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":{},\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":7,\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":{\"src_ip\":\"10.0.0.1\",\"dst_ip\":\"fd00::1\","
    "\"src_port\":1,"
    "\"dst_port\":2,\"protocol\":6},\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":{\"src_ip\":\"10.0.0.1\",\"dst_ip\":\"10.0.0.2\","
    "\"src_port\":65536,"
    "\"dst_port\":2,\"protocol\":6},\"paths\":[],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":" FLOW ",\"paths\":[[]],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":" FLOW ",\"paths\":[[0]],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":" FLOW
    ",\"paths\":[[4294967296]],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":" FLOW ",\"paths\":[1],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":" FLOW ",\"paths\":{},\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":" FLOW
    ",\"paths\":[[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],"
    "[1],[1],[1],[1],[1]],\"detail\":\"\"}",
    "{\"time_us\":1,\"reason\":\"A\",\"flow_id\":" FLOW ",\"paths\":[],\"detail\":null}",
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        json_t *object = json_loads(refused[i], JSON_ALLOW_NUL, NULL);
        struct pd_alarm_message message;
        struct pd_error error = {0};

        assert_non_null(object);
        if (pd_fleet_alarm_message_read(object, NULL, &message, NULL, &error) != -PD_E_VALUE) {
            fail_msg("taken: %s", refused[i]);
        }
        assert_true(error.text[0]);
        json_decref(object);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
