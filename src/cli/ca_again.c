/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump ca revoke` and `pathdump ca renew`: certificates that no longer hold, and those that
 * shall hold longer. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/certificate.h"
#include "cli/cli.h"

#define SUFFIX ".pem"

/* ---- revoke ---- */

struct revoke_settings {
    const char *ca;
};

static const struct pd_option revoke_options[] = {
    {.name = "ca",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct revoke_settings, ca),
     .value = "DIR",
     .help = "folder of the CA; else the one that the certificate lies in"},
    {0},
};

/* The list itself goes out, too, for whoever carries it to other machines. */
static int print_list(const char *folder, struct pd_error *error)
{
    char path[4200], text[4096];
    size_t bytes;
    snprintf(path, sizeof path, "%.4000s/crl.pem", folder);
    FILE *list = fopen(path, "re");
    if (!list) {
        return pd_fail(error, -errno, "%.300s: %s", path, strerror(errno));
    }
    while ((bytes = fread(text, 1, sizeof text, list))) {
        fwrite(text, 1, bytes, stdout);
    }
    fclose(list);
    return 0;
}

static int revoke_all(struct pd_ca *ca, const char *folder, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    int err = 0;
    for (int i = 0; !err && i < words->len; i++) {
        bool added;
        err = pd_cli_authority_revoke(ca, words->words[i], &added, error);
        if (!err) {
            printf("%s  %s\n", words->words[i], added ? "revoked" : "was revoked before");
        }
    }
    if (!err) {
        printf("%s/crl.pem  give it to every program with --tls-crl, then kill -HUP:\n", folder);
        err = print_list(folder, error);
    }
    return err;
}

static int run_revoke(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    const struct revoke_settings *set = settings;
    const char *path = words->words[0], *slash = strrchr(path, '/');
    char *folder = set->ca ? strdup(set->ca)
                   : slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1)
                           : strdup(".");
    struct pd_ca *ca = NULL;
    int err =
        folder ? pd_cli_ca_open_existing(folder, &ca, error) : pd_fail(error, -ENOMEM, "no memory");
    if (!err) {
        err = revoke_all(ca, folder, words, error);
    }
    pd_cli_ca_free(ca);
    free(folder);
    return err;
}

const struct pd_cli_command pd_cli_ca_revoke = {
    .name = "ca revoke",
    .synopsis = "CERT...  [options]",
    .help = "put certificates on the list of revoked ones",
    .details =
        "Adds them to crl.pem in the folder of the CA, signs it anew and prints it; ca.key has to "
        "be there. Daemons take the list with --tls-crl and read it anew on SIGHUP: open "
        "connections of revoked certificates end then. Other certificates stay good.",
    .options = revoke_options,
    .words = "FILE",
    .words_min = 1,
    .words_max = 64,
    .settings_bytes = sizeof(struct revoke_settings),
    .run = run_revoke,
};

/* ---- renew ---- */

struct renew_settings {
    uint64_t days;
};

static const struct pd_option renew_options[] = {
    {.name = "days",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct renew_settings, days),
     .min = 1,
     .max = 36500,
     .value = "N",
     .fallback = "365",
     .help = "how long certificates are good, at most as long as the CA"},
    {0},
};

/* Without ".pem"; false: it is none that is renewed. */
static bool certificate_name(const char *entry, char name[256])
{
    size_t len = strlen(entry), end = strlen(SUFFIX);
    if (len <= end || len >= 256 || strcmp(entry + len - end, SUFFIX) != 0 ||
        !strcmp(entry, "ca.pem") || !strcmp(entry, "crl.pem")) {
        return false;
    }
    snprintf(name, 256, "%.*s", (int)(len - end), entry);
    return true;
}

static int renew_all(struct pd_ca *ca, const char *folder, struct dirent **entries, int len,
                     unsigned days, struct pd_error *error)
{
    unsigned made = 0;
    int err = 0;
    for (int i = 0; !err && i < len; i++) {
        char name[256];
        bool done = false;
        if (!certificate_name(entries[i]->d_name, name)) {
            continue;
        }
        err = pd_cli_authority_renew(ca, name, days, &done, error);
        if (!err) {
            printf("%s/%s.pem%s\n", folder, name,
                   done ? "" : "  (left: revoked, or of another CA)");
        }
        made += done;
    }
    if (!err) {
        printf("%u certificates made anew, each with its .key beside it\n", made);
    }
    return err;
}

static int run_renew(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct renew_settings *set = settings;
    const char *folder = words->len ? words->words[0] : ".";
    struct dirent **entries = NULL;
    struct pd_ca *ca = NULL;
    int len, err = pd_cli_ca_open_existing(folder, &ca, error);
    if (err) {
        return err;
    }
    len = scandir(folder, &entries, NULL, alphasort);
    err = len < 0 ? pd_fail(error, -errno, "%.300s: %s", folder, strerror(errno))
                  : renew_all(ca, folder, entries, len, (unsigned)set->days, error);
    while (len > 0) {
        free(entries[--len]);
    }
    free(entries);
    pd_cli_ca_free(ca);
    return err;
}

const struct pd_cli_command pd_cli_ca_renew = {
    .name = "ca renew",
    .synopsis = "[DIR]  [options]",
    .help = "make all certificates of a CA's folder anew",
    .details = "Each gets a new key, for the same role, name and addresses. The CA stays, and what "
               "is revoked is left as it is. DIR is this folder when it is not given. Daemons read "
               "their certificates anew on SIGHUP.",
    .options = renew_options,
    .words = "DIR",
    .words_max = 1,
    .settings_bytes = sizeof(struct renew_settings),
    .run = run_renew,
};
