// A hand-made server: says its port, lets one client in, and writes COUNT text frames, each the bytes of FILE, in blocks
// of 256 KiB. Far faster than any client of the table, so that the client is what is measured.
// usage: RawWebSocketFlood FILE COUNT
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

int main(int count, char **arguments) {
    if (count != 3) return 64;
    wire_end_after(300);
    size_t length;
    int port;
    uint8_t *message = wire_file(arguments[1], &length);
    struct wire_block block = wire_block(message, length, false);
    size_t left = (size_t)atol(arguments[2]) * block.frame;
    int listener = wire_listen(&port);
    printf("%d\n", port);
    fflush(stdout);
    int client = accept(listener, NULL, NULL);
    if (client < 0) wire_fail("accept");
    wire_accept_upgrade(client);
    while (left > 0) {
        size_t next = left < block.length ? left : block.length;
        wire_write(client, block.bytes, next);
        left -= next;
    }
    // The client leaves when it has counted the last.
    uint8_t rest[4096];
    while (recv(client, rest, sizeof rest, 0) > 0) {}
    return 0;
}
