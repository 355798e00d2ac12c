/* SPDX-License-Identifier: Apache-2.0 */
/* Roles at the controller's routes, those of parts too: generated from the table. */
#include "../../shared/roles.h"

#include <stdlib.h>
#include <unistd.h>

#include "controller/audit/audit.h"
#include "controller/rest.h"

static struct pd_controller controller;

static void answer(const struct pd_http_request *request, struct pd_answer *answer)
{
    pd_controller_answer(&controller, request, answer);
}

static void test_all(void **state)
{
    char folder[] = "/tmp/pathdump-roles-XXXXXX", name[64];
    const struct pd_rest *rest = pd_controller_rest();

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(pd_audit_open(folder, &controller.audit, NULL), 0);
    roles_check_all(rest->routes, rest->len, answer);
    pd_audit_close(controller.audit);
    snprintf(name, sizeof name, "%s/audit.jsonl", folder);
    unlink(name);
    snprintf(name, sizeof name, "%s/asked.jsonl", folder);
    unlink(name);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
