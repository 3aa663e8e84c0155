#include <libwebsockets.h>

// A message is final when its last fragment is there whole.
static inline int is_whole_message(struct lws *wsi) {
    return lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0;
}
