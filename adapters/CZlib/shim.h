#ifndef SIGNALBOX_CZLIB_SHIM_H
#define SIGNALBOX_CZLIB_SHIM_H

// Otherwise what is only read could be written to.
#define ZLIB_CONST
#include <zlib.h>

// Macros. Without the head and the check that files have (RFC 7692, 7.2), which a negative number asks for.

static inline int cz_begin_deflate(z_stream *stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

static inline int cz_begin_inflate(z_stream *stream, int window_bits) {
    return inflateInit2(stream, -window_bits);
}

#endif
