#define _GNU_SOURCE
#include "wire.h"

#include <arpa/inet.h>
#include <libwebsockets.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void wire_end_after(unsigned seconds) { alarm(seconds); }

void wire_fail(const char *what) {
    perror(what);
    exit(2);
}

static struct sockaddr_in here(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int wire_listen(int *port) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = here(0);
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0) wire_fail("bind");
    if (listen(listener, 16) != 0) wire_fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &length) != 0) wire_fail("getsockname");
    *port = ntohs(address.sin_port);
    return listener;
}

int wire_connect(int port) {
    int on = 1;
    int made = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = here(port);
    if (made < 0) wire_fail("socket");
    if (connect(made, (struct sockaddr *)&address, sizeof address) != 0) wire_fail("connect");
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return made;
}

void wire_write(int socket, const uint8_t *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
        // The peer has what it wanted and left.
        if (sent <= 0) exit(0);
        bytes += sent;
        length -= (size_t)sent;
    }
}

// Up to the empty line, and not a byte beyond it.
static void read_head(int socket, char *text, size_t room) {
    size_t held = 0;
    text[0] = 0;
    while (held + 1 < room) {
        ssize_t seen = recv(socket, text + held, room - 1 - held, MSG_PEEK);
        if (seen <= 0) wire_fail("the peer closed the connection during the handshake");
        text[held + (size_t)seen] = 0;
        char *end = strstr(text, "\r\n\r\n");
        size_t take = end == NULL ? (size_t)seen : (size_t)(end + 4 - text) - held;
        if (recv(socket, text + held, take, 0) != (ssize_t)take) wire_fail("recv");
        held += take;
        text[held] = 0;
        if (end != NULL) return;
    }
    wire_fail("the head of the handshake is too long");
}

void wire_accept_upgrade(int socket) {
    static const char name[] = "Sec-WebSocket-Key:";
    char head[8192], joined[128], answer[512], digest[20], accepted[64];
    read_head(socket, head, sizeof head);
    char *key = strcasestr(head, name);
    if (key == NULL) wire_fail("no key in the request");
    key += strlen(name);
    key += strspn(key, " ");
    snprintf(joined, sizeof joined, "%.*s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", (int)strcspn(key, " \r\n"), key);
    lws_SHA1((unsigned char *)joined, strlen(joined), (unsigned char *)digest);
    lws_b64_encode_string(digest, sizeof digest, accepted, sizeof accepted);
    int length = snprintf(answer, sizeof answer,
                          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Accept: %s\r\n\r\n",
                          accepted);
    wire_write(socket, (uint8_t *)answer, (size_t)length);
}

void wire_request_upgrade(int socket, int port, const char *path) {
    char head[8192];
    int length = snprintf(head, sizeof head,
                          "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                          path, port);
    wire_write(socket, (uint8_t *)head, (size_t)length);
    read_head(socket, head, sizeof head);
    if (strncmp(head, "HTTP/1.1 101", 12) != 0) {
        fprintf(stderr, "no upgrade: %.60s\n", head);
        exit(2);
    }
}

uint8_t *wire_file(const char *path, size_t *length) {
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    if (file == NULL) wire_fail(path);
    *length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return bytes;
}

size_t wire_frame(uint8_t *out, const uint8_t *message, size_t length, bool masked) {
    static uint32_t state = 0x12345678;
    size_t head = 2;
    out[0] = 0x81;
    if (length < 126) {
        out[1] = (uint8_t)length;
    } else {
        out[1] = 126;
        out[2] = (uint8_t)(length >> 8);
        out[3] = (uint8_t)length;
        head = 4;
    }
    if (!masked) {
        memcpy(out + head, message, length);
        return head + length;
    }
    out[1] |= 0x80;
    state = state * 1664525 + 1013904223;
    uint8_t *mask = out + head;
    memcpy(mask, &state, 4);
    head += 4;
    for (size_t index = 0; index < length; index++) out[head + index] = message[index] ^ mask[index & 3];
    return head + length;
}

struct wire_block wire_block(const uint8_t *message, size_t length, bool masked) {
    struct wire_block block = {malloc(WIRE_BLOCK), 0, 0};
    do {
        block.frame = wire_frame(block.bytes + block.length, message, length, masked);
        block.length += block.frame;
    } while (block.length + length + WIRE_HEAD <= WIRE_BLOCK);
    return block;
}

static size_t head_length(const uint8_t *head) {
    size_t kind = head[1] & 0x7F;
    return 2 + (kind == 126 ? 2 : kind == 127 ? 8 : 0) + (head[1] & 0x80 ? 4 : 0);
}

static uint64_t payload_length(const uint8_t *head) {
    uint64_t length = head[1] & 0x7F;
    if (length < 126) return length;
    size_t bytes = length == 126 ? 2 : 8;
    length = 0;
    for (size_t index = 0; index < bytes; index++) length = length << 8 | head[2 + index];
    return length;
}

static void frame_ended(struct wire_reader *reader) {
    uint8_t kind = reader->head[0] & 0x0F;
    if (kind == 1) reader->texts++;
    if (kind == 8) reader->closed = true;
    reader->held = 0;
}

void wire_read(struct wire_reader *reader, const uint8_t *bytes, size_t length) {
    while (length > 0) {
        if (reader->held >= 2 && reader->held == head_length(reader->head)) {
            size_t take = reader->left < length ? (size_t)reader->left : length;
            reader->left -= take;
            bytes += take;
            length -= take;
        } else {
            reader->head[reader->held++] = *bytes++;
            length--;
            if (reader->held < 2 || reader->held != head_length(reader->head)) continue;
            reader->left = payload_length(reader->head);
        }
        if (reader->left == 0) frame_ended(reader);
    }
}

double wire_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double wire_cpu_seconds(pid_t process) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) wire_fail("cannot read the process clock");
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double wire_resident(pid_t process) {
    char path[64];
    long all, resident;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2) wire_fail(path);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}
