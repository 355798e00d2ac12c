/* SPDX-License-Identifier: Apache-2.0 */
/* A pager for what is longer than the screen. */
#include "cli/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    pid_t pid;    /* 0: none */
    int terminal; /* standard output as it was */
} pager;

/* NULL: none is wanted. */
static const char *command(void)
{
    const char *term = getenv("TERM"), *text = getenv("PATHDUMP_PAGER");

    if (!isatty(STDOUT_FILENO) || !term || !*term || !strcmp(term, "dumb")) {
        return NULL;
    }
    text = text ? text : getenv("PAGER");
    text = text ? text : "less";
    return *text && strcmp(text, "cat") ? text : NULL;
}

static void run(const char *text, int from)
{
    dup2(from, STDIN_FILENO);
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", text, (char *)NULL);
    _exit(127);
}

void pd_cli_pager_begin(void)
{
    const char *text = pager.pid ? NULL : command();
    int ends[2];

    if (!text || fflush(stdout) || pipe2(ends, O_CLOEXEC)) {
        return;
    }
    pager.terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    pager.pid = pager.terminal < 0 ? -1 : fork();
    if (!pager.pid) {
        run(text, ends[0]);
    }
    close(ends[0]);
    if (pager.pid < 0) {
        pager.pid = 0;
        close(pager.terminal);
    } else {
        signal(SIGPIPE, SIG_IGN); /* who has seen enough leaves the pager */
        dup2(ends[1], STDOUT_FILENO);
    }
    close(ends[1]);
}

void pd_cli_pager_end(void)
{
    if (!pager.pid) {
        return;
    }
    if (fflush(stdout)) {
        clearerr(stdout); /* nobody reads to the end of everything */
    }
    dup2(pager.terminal, STDOUT_FILENO);
    close(pager.terminal);
    while (waitpid(pager.pid, NULL, 0) < 0 && !kill(pager.pid, 0)) {
    }
    pager.pid = 0;
}
