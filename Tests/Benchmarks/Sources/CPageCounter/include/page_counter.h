// What counts the messages of a page in each program of the engines' rows, bare or not, so that all are timed in the same
// way: by this process's clock, when a message has arrived. The clocks of pages are too coarse.
//
// A page sends message 0 and waits for its answer, then the messages that are measured, 1 to the last. Each has its number
// in its amount; one that is missing, comes twice or out of turn ends the process with status 3.
#ifndef SIGNALBOX_PAGE_COUNTER_H
#define SIGNALBOX_PAGE_COUNTER_H

#include <stdbool.h>
#include <stddef.h>

// What is added to a number, so that each amount has six digits.
enum { PAGE_COUNTER_FIRST_AMOUNT = 100000, PAGE_COUNTER_SECONDS = 60 };

// Begins the time to the first message, and ends the process after PAGE_COUNTER_SECONDS so that none is left behind.
// `count` is how many follow the first, 1 to 800,000.
void page_counter_begin(long count);
// Takes the next message, on one thread at a time. True when it is the last; its number is that of messages before it.
bool page_counter_take(long amount);
// The same for the text of a message as bare pages send it: JSON.stringify({ action, body }), amount first.
bool page_counter_take_text(const char *text, size_t length);
// Prints what was measured, in one line: seconds to the first message; seconds from the first to the last; the median and
// the 99th percentile of the time between one and the next in seconds; when the first came, by the monotonic clock.
void page_counter_print(void);
// Ends the process with status 0 once its input ends, on a thread of its own: until then its memory can be looked at.
void page_counter_end_with_input(void);

#endif
