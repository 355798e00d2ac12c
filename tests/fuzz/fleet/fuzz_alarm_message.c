/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON as an alarm: refused in words, or a message that is the same after it was written and
 * read again, either way. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/alarm_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth) {
        abort();
    }
}

static void check_same(const struct pd_alarm_message *message)
{
    char text[PD_ALARM_MESSAGE_MAX_BYTES + 1] = "{";
    size_t len = pd_fleet_alarm_message_text(message, text + 1);
    json_t *read = json_loadb(text, len + 1, JSON_REJECT_DUPLICATES, NULL);
    json_t *tree = pd_fleet_alarm_message_json(message);
    struct pd_alarm_message again;

    require(len && json_equal(read, tree));
    require(!pd_fleet_alarm_message_read(read, NULL, &again, NULL, NULL));
    require(!strcmp(again.detail, message->detail) && !strcmp(again.reason, message->reason));
    require(!memcmp(&again.flow, &message->flow, sizeof again.flow));
    json_decref(read);
    json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *object = json_loadb((const char *)data, size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    struct pd_alarm_message message;
    struct pd_error error = {0};
    uint64_t seq = 0;
    int err;

    if (!object) {
        return 0;
    }
    err = pd_fleet_alarm_message_read(object, "seq", &message, &seq, &error);
    require(err ? err == -PD_E_VALUE && error.text[0] : seq > 0 && message.paths_len <= 16);
    if (!err) {
        check_same(&message);
    }
    json_decref(object);
    return 0;
}
