#include "page_counter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char head[] = "{\"action\":\"payment\",\"body\":{\"amount\":";
static double began;
static double *times;
static long expected;
static long taken;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fail(const char *why, long amount) {
    fprintf(stderr, "message %ld, amount %ld: %s\n", taken, amount, why);
    _exit(3);
}

void page_counter_begin(long count) {
    alarm(PAGE_COUNTER_SECONDS);
    expected = count;
    times = calloc((size_t)count + 1, sizeof *times);
    if (times == NULL) fail("out of memory", 0);
    // So that no page of it is new to the process while it counts.
    for (long index = 0; index <= count; index++) times[index] = -1;
    began = now();
}

bool page_counter_take(long amount) {
    if (taken > expected) fail("received more messages than were sent", amount);
    if (amount != PAGE_COUNTER_FIRST_AMOUNT + taken) fail("message out of order", amount);
    times[taken] = now();
    return taken++ == expected;
}

bool page_counter_take_text(const char *text, size_t length) {
    if (length <= sizeof head || memcmp(text, head, sizeof head - 1) != 0) fail("unexpected message", 0);
    return page_counter_take(strtol(text + sizeof head - 1, NULL, 10));
}

static int compare(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

void page_counter_print(void) {
    double first = times[0];
    double all = times[expected] - first;
    for (long index = 0; index < expected; index++) times[index] = times[index + 1] - times[index];
    qsort(times, (size_t)expected, sizeof *times, compare);
    printf("%.9f %.9f %.9f %.9f %.9f\n", first - began, all, times[expected / 2], times[expected * 99 / 100], first);
    fflush(stdout);
}

static void *wait_for_end(void *unused) {
    char byte;
    while (read(0, &byte, 1) > 0) {}
    _exit(0);
    return unused;
}

void page_counter_end_with_input(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0) fail("cannot create a thread", 0);
    pthread_detach(thread);
}
