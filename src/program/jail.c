/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's walls: resource limits and a seccomp filter. */
#include "program/jail.h"

#include <errno.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

static int limit(int resource, rlim_t most)
{
    return setrlimit(resource, &(struct rlimit){most, most}) ? -errno : 0;
}

/* Memory is mapped without a file and never to be executed. */
static int allow_mapping(scmp_filter_ctx filter)
{
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                            SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                            SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
}

static int filter_calls(void)
{
    static const int calls[] = {
        SCMP_SYS(sendto),          SCMP_SYS(recvfrom),   SCMP_SYS(poll),
        SCMP_SYS(ppoll),           SCMP_SYS(brk),        SCMP_SYS(munmap),
        SCMP_SYS(mremap),          SCMP_SYS(madvise),    SCMP_SYS(futex),
        SCMP_SYS(clock_gettime),   SCMP_SYS(setitimer),  SCMP_SYS(rt_sigreturn),
        SCMP_SYS(restart_syscall), SCMP_SYS(exit_group),
    };
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter) {
        return -ENOMEM;
    }
    int err = allow_mapping(filter);
    for (size_t i = 0; !err && i < sizeof calls / sizeof *calls; i++) {
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    }
    err = err ? err : seccomp_load(filter);
    seccomp_release(filter);
    return err;
}

int pd_program_jail_enter(void)
{
    int err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
    err = err ? err : limit(RLIMIT_CORE, 0);
    err = err ? err : limit(RLIMIT_FSIZE, 0);
    if (err || SANITIZED) {
        return err;
    }
    err = limit(RLIMIT_NOFILE, 1);
    return err ? err : filter_calls();
}
