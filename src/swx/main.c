/* SPDX-License-Identifier: Apache-2.0 */
/* pathdump-switch: runs compiled switch programs on captures, interfaces, taps and each other. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "daemon/notify.h"
#include "daemon/signals.h"
#include "pd_version.h"
#include "swx/config.h"
#include "swx/control.h"
#include "swx/process.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct settings {
    bool json, help, version;
};

static const struct pd_option options[] = {
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print the counters as JSON, a line for each switch"},
    {.name = "help",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, help),
     .help = "print this and end"},
    {.name = "version",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, version),
     .help = "print the version and end"},
    {0},
};

static int complain(const struct pd_error *error, int status)
{
    fprintf(stderr, "pathdump-switch: %s\n",
            error->text[0] ? error->text : pd_error_text(error->code));
    return status;
}

static void print_help(void)
{
    puts("Usage: pathdump-switch CONFIG.json [--json]\n"
         "Runs compiled switch programs as switches. Where all ports are captures it ends with "
         "them.\n");
    pd_options_help(options, stdout);
    puts("\nExit status: 0 done, 1 failed, 2 wrong usage. pathdump-switch(8) says more.");
}

static void print_line(const json_t *summary)
{
    const char *reason;
    json_t *count;
    printf("switch %" JSON_INTEGER_FORMAT ": received %" JSON_INTEGER_FORMAT
           ", forwarded %" JSON_INTEGER_FORMAT ", punted %" JSON_INTEGER_FORMAT
           ", mirrored %" JSON_INTEGER_FORMAT ", answered %" JSON_INTEGER_FORMAT,
           json_integer_value(json_object_get(summary, "switch")),
           json_integer_value(json_object_get(summary, "received")),
           json_integer_value(json_object_get(summary, "forwarded")),
           json_integer_value(json_object_get(summary, "punted")),
           json_integer_value(json_object_get(summary, "mirrored")),
           json_integer_value(json_object_get(summary, "answered")));
    json_object_foreach(json_object_get(summary, "dropped"), reason, count)
    {
        printf(", dropped %s %" JSON_INTEGER_FORMAT, reason, json_integer_value(count));
    }
    putchar('\n');
}

static int print_summaries(const struct pd_swx_process *process, bool json)
{
    for (uint32_t i = 0; i < process->len; i++) {
        json_t *summary = pd_swx_switch_summary(&process->switches[i]);
        if (!summary) {
            return EXIT_FAILED;
        }
        if (json) {
            json_dumpf(summary, stdout, JSON_COMPACT);
            putchar('\n');
        } else {
            print_line(summary);
        }
        json_decref(summary);
    }
    return fflush(stdout) || ferror(stdout) ? EXIT_FAILED : EXIT_OK;
}

static int work(const char *file, const struct settings *settings)
{
    struct pd_error error = {0};
    struct pd_swx_config config = {.json = NULL};
    struct pd_swx_process process = {.len = 0, .epoll_fd = -1};
    struct pd_swx_control *control = NULL;
    int err, status = EXIT_OK, stop_fd = -1;
    err = pd_swx_config_read(file, &config, &error);
    if (!err && !config.captures) { /* before DPDK starts threads, which would take the signals */
        pd_daemon_signals_hold();
        err = pd_daemon_signals_open(&stop_fd, &error);
    }
    err = err ? err : pd_swx_process_open(&config, &process, &error);
    process.stop_fd = stop_fd;
    if (!err && config.control) {
        err = pd_swx_control_open(&process, config.control, &control, &error);
    }
    if (!err) {
        pd_daemon_notify("READY=1");
        err = pd_swx_process_run(&process);
        error.code = err;
    }
    status = err ? complain(&error, EXIT_FAILED) : print_summaries(&process, settings->json);
    pd_swx_control_close(control);
    pd_swx_process_close(&process);
    pd_swx_config_done(&config);
    return status;
}

int main(int argc, char **argv)
{
    struct settings settings = {.json = false};
    struct pd_error error = {0};
    int words = 0;
    int err = pd_options_flags(options, &settings, argc, argv, &words, NULL, &error);
    if (err) {
        return complain(&error, EXIT_USAGE);
    }
    if (settings.help) {
        print_help();
        return EXIT_OK;
    }
    if (settings.version) {
        puts("pathdump-switch " PD_VERSION);
        return EXIT_OK;
    }
    if (words != 1) {
        fputs("pathdump-switch: expects one configuration file (--help)\n", stderr);
        return EXIT_USAGE;
    }
    return work(argv[1], &settings);
}
