// The baselines: a program as a plugin, called by hand from C, one call at a time.
// usage: RawProgramCaller lines PROGRAM COUNT FILE     one process: writes FILE as a line, and waits for the line that answers it
//        RawProgramCaller once PROGRAM COUNT FILE      a process each time: writes FILE, closes, reads to the end, and waits for it
// Prints calls a second, and the median and the 99th percentile of a call in microseconds.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire.h"

extern char **environ;

static char *program;
static char *work;

// Starts the program and returns its process, with the ends of its pipes.
static pid_t start(int *input, int *output) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) wire_fail("pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    int ends[] = {in[0], in[1], out[0], out[1]};
    for (int index = 0; index < 4; index++) posix_spawn_file_actions_addclose(&actions, ends[index]);
    char *arguments[] = {program, work, NULL};
    pid_t process;
    if (posix_spawn(&process, program, &actions, NULL, arguments, environ) != 0) wire_fail("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    *input = in[1];
    *output = out[0];
    return process;
}

static void write_all(int pipe, const uint8_t *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = write(pipe, bytes, length);
        if (sent <= 0) wire_fail("write");
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void call_line(int input, int output, const uint8_t *line, size_t length) {
    char answer[4096];
    ssize_t came;
    write_all(input, line, length);
    do {
        came = read(output, answer, sizeof answer);
        if (came <= 0) wire_fail("read");
    } while (answer[came - 1] != '\n');
}

static void call_once(const uint8_t *body, size_t length) {
    char answer[4096];
    int input, output, status;
    pid_t process = start(&input, &output);
    write_all(input, body, length);
    close(input);
    while (read(output, answer, sizeof answer) > 0) {}
    close(output);
    if (waitpid(process, &status, 0) != process || status != 0) wire_fail("waitpid");
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

int main(int count, char **arguments) {
    if (count != 5) return 64;
    wire_end_after(300);
    work = arguments[1];
    program = arguments[2];
    long calls = atol(arguments[3]);
    size_t length;
    uint8_t *body = wire_file(arguments[4], &length);
    int input = -1, output = -1;
    bool stays = strcmp(work, "lines") == 0;
    pid_t process = 0;
    if (stays) {
        process = start(&input, &output);
        body[length++] = '\n';
    }
    double *times = calloc((size_t)calls, sizeof *times);
    double began = wire_seconds();
    for (long index = 0; index < calls; index++) {
        double from = wire_seconds();
        if (stays) {
            call_line(input, output, body, length);
        } else {
            call_once(body, length);
        }
        times[index] = wire_seconds() - from;
    }
    double seconds = wire_seconds() - began;
    if (stays) {
        close(input);
        waitpid(process, NULL, 0);
    }
    qsort(times, (size_t)calls, sizeof *times, compare);
    printf("%.0f %.1f %.1f\n", (double)calls / seconds, times[calls / 2] * 1e6, times[calls * 99 / 100] * 1e6);
    return 0;
}
