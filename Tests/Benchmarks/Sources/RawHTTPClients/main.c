// Many HTTP clients in one process, hand-made: they look at a server from outside, its processor time and memory included.
// usage: RawHTTPClients PORT SERVER IDLE BUSY REQUESTS PATH [FILE]
//          opens BUSY connections and IDLE more, each with one request; then the BUSY ones send REQUESTS requests together, each
//          the next one after its answer. The requests are POST with the body FILE, or GET without one.
// SERVER is the server's process. Prints one line of names and numbers.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

enum { LONGEST_ANSWER = 8192, READY = 256 };

struct connection {
    int socket;
    double began;
    size_t held;
    char answer[LONGEST_ANSWER + 1];
};

static char request[1 << 16];
static size_t request_length;
static pid_t server;

static void make_request(int port, const char *path, const char *file) {
    size_t length = 0;
    const uint8_t *body = file == NULL ? NULL : wire_file(file, &length);
    int head = file == NULL ? snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", path, port)
                            : snprintf(request, sizeof request,
                                       "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                                       "Content-Length: %zu\r\n\r\n",
                                       path, port, length);
    if (head < 0 || (size_t)head + length > sizeof request) wire_fail("the request is too long");
    if (body != NULL) memcpy(request + head, body, length);
    request_length = (size_t)head + length;
}

static void ask(struct connection *connection) {
    connection->began = wire_seconds();
    connection->held = 0;
    wire_write(connection->socket, (const uint8_t *)request, request_length);
}

// Whether the answer is complete. Every answer has a status 200 and a length, and leaves the connection open.
static bool is_answered(struct connection *connection) {
    char *held = connection->answer + connection->held;
    ssize_t came = recv(connection->socket, held, LONGEST_ANSWER - connection->held, 0);
    if (came <= 0) wire_fail("the server closed the connection");
    connection->held += (size_t)came;
    connection->answer[connection->held] = 0;
    char *end = strstr(connection->answer, "\r\n\r\n");
    if (end == NULL) return false;
    char *length = strcasestr(connection->answer, "content-length:");
    if (strncmp(connection->answer, "HTTP/1.1 200", 12) != 0 || length == NULL || length > end) {
        fprintf(stderr, "another answer than expected: %.200s\n", connection->answer);
        exit(2);
    }
    size_t whole = (size_t)(end + 4 - connection->answer) + (size_t)atol(length + 15);
    return connection->held >= whole;
}

static void open_one(struct connection *connection, int port) {
    connection->socket = wire_connect(port);
    ask(connection);
    while (!is_answered(connection)) {}
}

// A reset, so that no port of this machine is kept waiting.
static void close_one(int socket) {
    struct linger at_once = {1, 0};
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(socket);
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

static void load(struct connection *busy, int count, long requests) {
    int poller = epoll_create1(0);
    for (int index = 0; index < count; index++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &busy[index]};
        epoll_ctl(poller, EPOLL_CTL_ADD, busy[index].socket, &event);
    }
    double *times = calloc((size_t)requests, sizeof *times);
    double cpu = wire_cpu_seconds(server);
    double began = wire_seconds();
    long asked = 0;
    long answered = 0;
    struct epoll_event events[READY];
    for (; asked < count && asked < requests; asked++) ask(&busy[asked]);
    while (answered < requests) {
        int ready = epoll_wait(poller, events, READY, -1);
        for (int index = 0; index < ready; index++) {
            struct connection *connection = events[index].data.ptr;
            if (!is_answered(connection)) continue;
            times[answered++] = wire_seconds() - connection->began;
            if (asked < requests) {
                asked++;
                ask(connection);
            }
        }
    }
    double seconds = wire_seconds() - began;
    cpu = wire_cpu_seconds(server) - cpu;
    qsort(times, (size_t)requests, sizeof *times, compare);
    printf("requests_per_second %.0f p50_us %.1f p99_us %.1f cpu_us_per_request %.2f ", (double)requests / seconds,
           times[requests / 2] * 1e6, times[requests * 99 / 100] * 1e6, cpu * 1e6 / (double)requests);
}

int main(int count, char **arguments) {
    if (count != 7 && count != 8) return 64;
    wire_end_after(300);
    int port = atoi(arguments[1]);
    server = atoi(arguments[2]);
    int idle = atoi(arguments[3]);
    int busy = atoi(arguments[4]);
    long requests = atol(arguments[5]);
    make_request(port, arguments[6], count == 8 ? arguments[7] : NULL);
    struct connection *some = calloc((size_t)busy, sizeof *some);
    for (int index = 0; index < busy; index++) open_one(&some[index], port);
    double memory = wire_resident(server);
    int *sockets = calloc((size_t)idle + 1, sizeof *sockets);
    struct connection one;
    for (int index = 0; index < idle; index++) {
        open_one(&one, port);
        sockets[index] = one.socket;
    }
    printf("idle_bytes %.0f server_bytes %.0f ", wire_resident(server) - memory, wire_resident(server));
    load(some, busy, requests);
    printf("server_bytes_after %.0f\n", wire_resident(server));
    for (int index = 0; index < idle; index++) close_one(sockets[index]);
    for (int index = 0; index < busy; index++) close_one(some[index].socket);
    return 0;
}
