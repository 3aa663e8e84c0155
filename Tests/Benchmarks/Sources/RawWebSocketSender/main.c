// A hand-made client that floods a server: COUNT masked text frames, each the bytes of FILE, over CONNECTIONS connections.
// What comes back is read and counted. UNANSWERED is how many messages of a connection may be without an answer; 0 where
// none is expected. Ends when every connection was closed by the server, with status 2 where that was too early. With socket.io
// each connection first joins that protocol's main namespace, and the messages are its packets.
// usage: RawWebSocketSender PORT CONNECTIONS COUNT FILE UNANSWERED [socket.io]
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

struct connection {
    int socket;
    size_t sent;
    bool waits;
    struct wire_reader reader;
};

static struct wire_block block;
static size_t each;
static int poller;
static int open_connections;
static size_t unanswered;

static void watch(struct connection *connection, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(poller, operation, connection->socket, &event);
}

// How far it may send now.
static size_t limit(struct connection *connection) {
    if (unanswered == 0) return each;
    size_t allowed = ((size_t)connection->reader.texts + unanswered) * block.frame;
    return allowed < each ? allowed : each;
}

// At most one block at a time, so that no connection keeps the others from sending.
static void send_more(struct connection *connection) {
    size_t place = connection->sent % block.length;
    size_t next = limit(connection) - connection->sent;
    if (next > block.length - place) next = block.length - place;
    ssize_t sent = send(connection->socket, block.bytes + place, next, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) connection->sent += (size_t)sent;
    if (sent < 0 && errno != EAGAIN) wire_fail("send");
    if (connection->sent < limit(connection)) return;
    connection->waits = true;
    watch(connection, EPOLL_CTL_MOD, EPOLLIN);
}

static void receive(struct connection *connection) {
    static uint8_t bytes[65536];
    ssize_t came = recv(connection->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (came < 0 && errno == EAGAIN) return;
    if (came > 0) wire_read(&connection->reader, bytes, (size_t)came);
    if (came <= 0 || connection->reader.closed) {
        if (connection->sent < each) wire_fail("the server closed the connection before all messages were sent");
        close(connection->socket);
        open_connections--;
    } else if (connection->waits && connection->sent < limit(connection)) {
        connection->waits = false;
        watch(connection, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    }
}

// The server announces itself, we connect to the main namespace, and the server confirms: two messages of the server.
static void join_socket_io(struct connection *connection) {
    uint8_t bytes[1024];
    size_t length = wire_frame(bytes, (const uint8_t *)"40", 2, true);
    wire_write(connection->socket, bytes, length);
    while (connection->reader.texts < 2) {
        // Nothing else comes before our first message.
        ssize_t came = recv(connection->socket, bytes, sizeof bytes, 0);
        if (came <= 0) wire_fail("no namespace of Socket.IO");
        wire_read(&connection->reader, bytes, (size_t)came);
    }
    connection->reader.texts = 0;
}

int main(int count, char **arguments) {
    if (count != 6 && count != 7) return 64;
    bool is_socket_io = count == 7;
    wire_end_after(300);
    int port = atoi(arguments[1]);
    open_connections = atoi(arguments[2]);
    size_t length;
    uint8_t *message = wire_file(arguments[4], &length);
    block = wire_block(message, length, true);
    each = (size_t)(atol(arguments[3]) / open_connections) * block.frame;
    unanswered = (size_t)atol(arguments[5]);
    poller = epoll_create1(0);
    struct connection *connections = calloc((size_t)open_connections, sizeof *connections);
    for (int index = 0; index < open_connections; index++) {
        connections[index].socket = wire_connect(port);
        const char *path = is_socket_io ? "/socket.io/?EIO=4&transport=websocket" : "/";
        wire_request_upgrade(connections[index].socket, port, path);
        if (is_socket_io) join_socket_io(&connections[index]);
    }
    int all = open_connections;
    for (int index = 0; index < all; index++) watch(&connections[index], EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
    struct epoll_event events[128];
    while (open_connections > 0) {
        int ready = epoll_wait(poller, events, 128, -1);
        for (int index = 0; index < ready; index++) {
            if (events[index].events & EPOLLOUT) send_more(events[index].data.ptr);
            if (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(events[index].data.ptr);
        }
    }
    return 0;
}
