// What the hand-made programs of the WebSocket rows share: sockets of this machine alone, the handshake, frames, time.
#ifndef SIGNALBOX_WEBSOCKET_WIRE_H
#define SIGNALBOX_WEBSOCKET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The longest head of a frame: two bytes, a length of eight, a mask of four.
enum { WIRE_HEAD = 14, WIRE_BLOCK = 256 * 1024 };

// A message as often as it fits into a block, each time as a text frame of its own.
struct wire_block {
    uint8_t *bytes;
    size_t length;
    // Of one frame.
    size_t frame;
};

// What was read of one connection's frames.
struct wire_reader {
    uint8_t head[WIRE_HEAD];
    size_t held;
    uint64_t left;
    long texts;
    bool closed;
};

// Ends the process after so many seconds, so that none is left behind.
void wire_end_after(unsigned seconds);
// Ends the process with status 2 and says why.
void wire_fail(const char *what);
// Listens on 127.0.0.1 and any port.
int wire_listen(int *port);
int wire_connect(int port);
// A server's and a client's half of the handshake; nothing that follows it is read.
void wire_accept_upgrade(int socket);
void wire_request_upgrade(int socket, int port, const char *path);
void wire_write(int socket, const uint8_t *bytes, size_t length);
uint8_t *wire_file(const char *path, size_t *length);
// The bytes of one text frame; `out` has room for the head besides the message.
size_t wire_frame(uint8_t *out, const uint8_t *message, size_t length, bool masked);
struct wire_block wire_block(const uint8_t *message, size_t length, bool masked);
void wire_read(struct wire_reader *reader, const uint8_t *bytes, size_t length);
double wire_seconds(void);
// The processor time of a process, all its threads together; 0 is this one.
double wire_cpu_seconds(pid_t process);
// The resident memory of a process in bytes.
double wire_resident(pid_t process);

#endif
