// Many clients in one process, hand-made: they look at a server from outside, its processor time and memory included.
// usage: RawWebSocketCrowd echo PORT SERVER CONNECTIONS MESSAGES FILE
//          each connection in turn sends FILE and waits for one text message: the times between
//        RawWebSocketCrowd broadcast PORT SERVER CONNECTIONS MESSAGES FILE
//          one sends FILE, and all wait for a text message; 8 are under way at once
// SERVER is the server's process. Prints one line of names and numbers.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

enum { UNDER_WAY = 8 };

struct connection {
    int socket;
    struct wire_reader reader;
};

static struct connection *connections;
static int all;
static pid_t server;
static double memory;
static uint8_t frame[(1 << 16) + WIRE_HEAD];
static size_t frame_length;

static void open_all(int port) {
    memory = wire_resident(server);
    double cpu = wire_cpu_seconds(server);
    double began = wire_seconds();
    connections = calloc((size_t)all, sizeof *connections);
    for (int index = 0; index < all; index++) {
        connections[index].socket = wire_connect(port);
        wire_request_upgrade(connections[index].socket, port, "/");
    }
    double seconds = wire_seconds() - began;
    printf("opened_per_second %.0f cpu_us_per_opening %.2f bytes_per_connection %.0f ", all / seconds,
           (wire_cpu_seconds(server) - cpu) * 1e6 / all, (wire_resident(server) - memory) / all);
}

// A reset, so that no port of this machine is kept waiting.
static void close_all(void) {
    struct linger at_once = {1, 0};
    for (int index = 0; index < all; index++) {
        setsockopt(connections[index].socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(connections[index].socket);
    }
}

// How many text messages came.
static long receive(struct connection *connection) {
    static uint8_t bytes[65536];
    long before = connection->reader.texts;
    ssize_t came = recv(connection->socket, bytes, sizeof bytes, 0);
    if (came <= 0) wire_fail("the server closed the connection");
    wire_read(&connection->reader, bytes, (size_t)came);
    if (connection->reader.closed) wire_fail("the server sent a close frame");
    return connection->reader.texts - before;
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

static void echo(long messages) {
    double *times = calloc((size_t)messages, sizeof *times);
    double cpu = wire_cpu_seconds(server);
    for (long index = 0; index < messages; index++) {
        // Another one each time, far from the last, as no two neighbours of a crowd speak in turns.
        struct connection *connection = &connections[(index * 7919) % all];
        double began = wire_seconds();
        wire_write(connection->socket, frame, frame_length);
        while (receive(connection) == 0) {}
        times[index] = wire_seconds() - began;
    }
    cpu = wire_cpu_seconds(server) - cpu;
    qsort(times, (size_t)messages, sizeof *times, compare);
    printf("p50_us %.1f p99_us %.1f cpu_us_per_echo %.2f", times[messages / 2] * 1e6, times[messages * 99 / 100] * 1e6,
           cpu * 1e6 / (double)messages);
}

static void broadcast(long messages) {
    int poller = epoll_create1(0);
    for (int index = 0; index < all; index++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[index]};
        epoll_ctl(poller, EPOLL_CTL_ADD, connections[index].socket, &event);
    }
    double cpu = wire_cpu_seconds(server);
    double own = wire_cpu_seconds(0);
    double began = wire_seconds();
    long sent = 0;
    long delivered = 0;
    struct epoll_event events[256];
    while (delivered < messages * all) {
        for (; sent < messages && sent - delivered / all < UNDER_WAY; sent++) {
            wire_write(connections[0].socket, frame, frame_length);
        }
        int ready = epoll_wait(poller, events, 256, -1);
        for (int index = 0; index < ready; index++) delivered += receive(events[index].data.ptr);
    }
    double seconds = wire_seconds() - began;
    printf("delivered_per_second %.0f cpu_us_per_delivery %.3f clients_cpu_us_per_delivery %.3f", delivered / seconds,
           (wire_cpu_seconds(server) - cpu) * 1e6 / (double)delivered, (wire_cpu_seconds(0) - own) * 1e6 / (double)delivered);
}

int main(int count, char **arguments) {
    if (count != 7) return 64;
    wire_end_after(300);
    server = atoi(arguments[3]);
    all = atoi(arguments[4]);
    size_t length;
    uint8_t *message = wire_file(arguments[6], &length);
    frame_length = wire_frame(frame, message, length, true);
    open_all(atoi(arguments[2]));
    if (strcmp(arguments[1], "echo") == 0) {
        echo(atol(arguments[5]));
    } else {
        broadcast(atol(arguments[5]));
    }
    printf(" bytes_per_connection_after %.0f server_bytes %.0f\n", (wire_resident(server) - memory) / all,
           wire_resident(server));
    close_all();
    return 0;
}
