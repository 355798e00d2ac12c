/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and comparing a daemon's settings by its table. */
#include "daemon/settings.h"

#include <string.h>

#include "http/host.h"
#include "http/listen.h"

int pd_daemon_set_log_level(void *target, const char *name, const char *value,
                            struct pd_error *error)
{
    struct pd_daemon_settings *settings = target;

    if (pd_log_level_parse(value, &settings->log_level)) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects error, warn, info or debug, not \"%.100s\"",
                       name, value);
    }
    return 0;
}

int pd_daemon_accept_listen(void *target, const char *name, const char *value,
                            struct pd_error *error)
{
    (void)target;
    (void)name;
    return pd_http_listen_check_tls(value, error); /* pd_daemon_check_listen() looks at it again */
}

int pd_daemon_accept_hosts(void *target, const char *name, const char *value,
                           struct pd_error *error)
{
    (void)target;
    return pd_http_host_check_list(value, error) ? pd_fail_within(error, name) : 0;
}

int pd_daemon_settings_load(const struct pd_option *table, struct pd_daemon_settings *settings,
                            int argc, char **argv, bool *ret_usage, struct pd_error *error)
{
    bool given[PD_DAEMON_OPTIONS_MAX] = {false};
    int words = 0, err;

    *ret_usage = true;
    err = pd_options_defaults(table, settings, error);
    if (!err) {
        err = pd_options_flags(table, settings, argc, argv, &words, given, error);
    }
    if (!err && words) {
        err = pd_fail(error, -PD_E_UNKNOWN_KEY, "%.100s: expects flags only", argv[1]);
    }
    if (err || !settings->config || settings->help || settings->version) {
        return err;
    }
    *ret_usage = false;
    err = pd_options_file(table, settings, settings->config, given, &settings->memory, error);
    if (err) {
        pd_daemon_settings_done(settings);
    }
    return err;
}

void pd_daemon_settings_done(struct pd_daemon_settings *settings)
{
    pd_options_memory_free(settings->memory);
    settings->memory = NULL;
}

static bool same_list(const struct pd_option_list *a, const struct pd_option_list *b)
{
    for (unsigned i = 0; i < a->len && i < b->len; i++) {
        if (strcmp(a->items[i], b->items[i]) != 0) {
            return false;
        }
    }
    return a->len == b->len;
}

static bool same(const struct pd_option *option, const void *a, const void *b)
{
    const char *x = (const char *)a + option->offset, *y = (const char *)b + option->offset;
    const char *s, *t;

    switch (option->type) {
    case PD_OPTION_STRING:
        memcpy(&s, x, sizeof s);
        memcpy(&t, y, sizeof t);
        return s == t || (s && t && !strcmp(s, t));
    case PD_OPTION_FLAG: return !memcmp(x, y, sizeof(bool));
    case PD_OPTION_LIST: return same_list((const void *)x, (const void *)y);
    case PD_OPTION_CALLBACK: return true; /* the log level: changes at once */
    default: return !memcmp(x, y, sizeof(uint64_t));
    }
}

static bool is_credential(const struct pd_option *option)
{
    size_t begin = offsetof(struct pd_daemon_settings, credentials);

    return option->type == PD_OPTION_STRING && option->offset >= begin &&
           option->offset < begin + sizeof(struct pd_credentials_files);
}

void pd_daemon_settings_compare(const struct pd_option *table, const void *now, const void *wanted,
                                bool (*at_once)(const struct pd_option *option),
                                void (*report)(const char *name))
{
    for (const struct pd_option *option = table; option->name; option++) {
        if (!is_credential(option) && !at_once(option) && !same(option, now, wanted)) {
            report(option->name);
        }
    }
}

int pd_daemon_check_listen(const struct pd_daemon_settings *settings, const char *listen,
                           struct pd_error *error)
{
    return pd_http_credentials_check_listen(&settings->credentials, listen, error);
}

int pd_daemon_open_listen(const struct pd_daemon_settings *settings, const char *listen,
                          struct pd_listener *ret_listener, struct pd_error *error)
{
    int err = pd_daemon_check_listen(settings, listen, error);

    return err ? err : pd_http_listen_open_tls(listen, ret_listener, error);
}

int pd_daemon_check_needed(const struct pd_daemon_needed *needed, size_t len,
                           struct pd_error *error)
{
    for (size_t i = 0; i < len; i++) {
        if (!needed[i].value || !needed[i].value[0]) {
            return pd_fail(error, -PD_E_VALUE,
                           "%s is missing: give --%s or the key in the configuration file",
                           needed[i].name, needed[i].name);
        }
    }
    return 0;
}
