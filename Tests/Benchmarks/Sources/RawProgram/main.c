// A program as a plugin, hand-made: it checks nothing and keeps nothing.
// usage: RawProgram lines     answers each line with the number of its call, all lines of one read with one write
//        RawProgram once      reads one body and answers it
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 256 * 1024 };

static char input[BLOCK];
static char output[BLOCK];

static void write_all(const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = write(STDOUT_FILENO, bytes, length);
        if (sent <= 0) exit(0);
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void answer_lines(void) {
    size_t held = 0;
    for (;;) {
        ssize_t came = read(STDIN_FILENO, input + held, sizeof input - held);
        if (came <= 0) return;
        held += (size_t)came;
        char *line = input;
        char *end;
        size_t length = 0;
        while ((end = memchr(line, '\n', (size_t)(input + held - line))) != NULL) {
            *end = 0;
            // Every line begins with the number: {"id":7,
            unsigned long call = strncmp(line, "{\"id\":", 6) == 0 ? strtoul(line + 6, NULL, 10) : 0;
            if (length > sizeof output - 64) {
                write_all(output, length);
                length = 0;
            }
            length += (size_t)snprintf(output + length, 64, "{\"id\":%lu,\"reply\":null}\n", call);
            line = end + 1;
        }
        write_all(output, length);
        held = (size_t)(input + held - line);
        memmove(input, line, held);
    }
}

int main(int count, char **arguments) {
    if (count != 2) return 64;
    if (strcmp(arguments[1], "lines") == 0) {
        answer_lines();
        return 0;
    }
    while (read(STDIN_FILENO, input, sizeof input) > 0) {}
    write_all("{}", 2);
    return 0;
}
