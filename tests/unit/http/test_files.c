/* SPDX-License-Identifier: Apache-2.0 */
/* Static files: out of a table and a folder, with tags, packed, and never from elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/files.h"

static const char page[] = "<p>", script[] = "let x", packed[] = "PACKED";
static const struct pd_file table[] = {
    {"index.html", page, page + 3, packed, packed + 6},
    {"vendor/x.js", script, script + 5, packed, packed + 6},
    {0},
};

struct asked {
    int err, http_status;
    char body[64], etag[48], type[64], coding[16];
};

static struct asked ask(const struct pd_files *files, const char *name, const char *encoding,
                        const char *tags)
{
    const struct pd_http_request request = {.accept_encoding = encoding, .if_none_match = tags};
    struct pd_problem problem = {0};
    struct pd_answer answer;
    struct asked asked = {0};

    pd_http_answer_init(&answer);
    asked.err = pd_http_files_answer(files, name, &request, &answer, &problem);
    asked.http_status = answer.http_status;
    snprintf(asked.body, sizeof asked.body, "%.*s", (int)answer.len, answer.bytes);
    snprintf(asked.etag, sizeof asked.etag, "%s", answer.etag);
    snprintf(asked.type, sizeof asked.type, "%s", answer.type);
    snprintf(asked.coding, sizeof asked.coding, "%s", answer.encoding ? answer.encoding : "");
    pd_http_answer_done(&answer);
    return asked;
}

static struct pd_files *open_files(const char *folder)
{
    struct pd_files *files;
    struct pd_error error;

    assert_int_equal(pd_http_files_open(table, folder, &files, &error), 0);
    return files;
}

static void a_table_is_served(void **state)
{
    struct pd_files *files = open_files(NULL);
    struct asked asked = ask(files, "index.html", NULL, NULL);

    (void)state;
    assert_string_equal(asked.body, "<p>");
    assert_string_equal(asked.type, "text/html; charset=utf-8");
    assert_int_equal(asked.http_status, 200);
    asked = ask(files, "vendor/x.js", "br, gzip;q=0.8", NULL);
    assert_string_equal(asked.body, "PACKED");
    assert_string_equal(asked.coding, "gzip");
    assert_string_equal(asked.type, "text/javascript; charset=utf-8");
    pd_http_files_close(files);
}

static void tags_spare_the_body(void **state)
{
    struct pd_files *files = open_files(NULL);
    struct asked first = ask(files, "index.html", NULL, NULL), again;
    char list[200];

    (void)state;
    snprintf(list, sizeof list, "\"other\", %s", first.etag);
    again = ask(files, "index.html", NULL, list);
    assert_int_equal(again.http_status, 304);
    assert_string_equal(again.body, "");
    assert_string_equal(again.etag, first.etag);
    assert_int_equal(ask(files, "index.html", NULL, "*").http_status, 304);
    assert_int_equal(ask(files, "vendor/x.js", NULL, list).http_status, 200);
    assert_int_equal(ask(files, "index.html", NULL, "\"").http_status, 200);
    assert_int_equal(ask(files, "index.html", NULL, ",,").http_status, 200);
    pd_http_files_close(files);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[300];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void make_folder(char folder[64])
{
    char path[300];

    strcpy(folder, "/tmp/pathdump-files-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/secret", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/secret/web", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(folder, "secret/key.js", "key");
    write_file(folder, "secret/web/index.html", "one");
    write_file(folder, "secret/web/notes.txt", "no type");
    snprintf(path, sizeof path, "%s/secret/web/link.js", folder);
    assert_int_equal(symlink("../key.js", path), 0);
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"web/index.html", "web/notes.txt", "web/link.js", "key.js"};
    char path[300];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/secret/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/secret/web", folder);
    rmdir(path);
    snprintf(path, sizeof path, "%s/secret", folder);
    rmdir(path);
    rmdir(folder);
}

static void a_folder_is_read_each_time(void **state)
{
    char folder[64], web[100];
    struct pd_files *files;
    struct asked first;

    (void)state;
    make_folder(folder);
    snprintf(web, sizeof web, "%s/secret/web", folder);
    files = open_files(web);
    first = ask(files, "index.html", "gzip", NULL);
    assert_string_equal(first.body, "one");
    assert_string_equal(first.coding, "");
    assert_int_equal(ask(files, "index.html", NULL, first.etag).http_status, 304);
    write_file(web, "index.html", "two");
    assert_string_equal(ask(files, "index.html", NULL, first.etag).body, "two");
    pd_http_files_close(files);
    remove_folder(folder);
}

static void no_name_leads_out(void **state)
{
    static const char *const names[] = {
        "../key.js",
        "vendor/../../key.js",
        "./index.html",
        "/etc/passwd",
        ".hidden.js",
        "link.js",
        "notes.txt",
        "a/b/c.js",
        "",
        "vendor/",
        "/",
        "..",
        "x.js",
        "index.html/",
        "index.htmlx",
        "x\n.js",
    };
    char folder[64], web[100];

    (void)state;
    make_folder(folder);
    snprintf(web, sizeof web, "%s/secret/web", folder);
    for (int in_folder = 0; in_folder < 2; in_folder++) {
        struct pd_files *files = open_files(in_folder ? web : NULL);

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            assert_int_equal(ask(files, names[i], NULL, NULL).err, -PD_E_NOT_FOUND);
        }
        pd_http_files_close(files);
    }
    remove_folder(folder);
}

static void a_folder_that_is_none(void **state)
{
    struct pd_files *files;
    struct pd_error error;

    (void)state;
    assert_true(pd_http_files_open(table, "/no/such/folder", &files, &error) < 0);
    assert_non_null(strstr(error.text, "/no/such/folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_served),          cmocka_unit_test(tags_spare_the_body),

        cmocka_unit_test(a_folder_is_read_each_time), cmocka_unit_test(no_name_leads_out),
        cmocka_unit_test(a_folder_that_is_none),
    };

    return cmocka_run_group_tests_name("http/files", tests, NULL, NULL);
}
