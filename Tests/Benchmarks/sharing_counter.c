// Counts how often several threads change the reference counts of the same Swift objects. Each change takes the object's cache
// line away from the other processors, as a lock does. Preload it into a program, which then prints the objects at its end:
//
//   cc -O2 -shared -fPIC -o sharing_counter.so sharing_counter.c && LD_PRELOAD=./sharing_counter.so PROGRAM
//
// SHARING_MESSAGES is the number by which the counts are divided.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*retain)(void *);
static void (*release)(void *);

enum { slot_count = 1 << 16, most_threads = 64 };

struct slot {
    void *object;
    const void *type;
    long changes;
};

// The counts of one thread: a hash table of objects. A full table forgets no object, but counts no new ones.
struct table {
    struct slot slots[slot_count];
    int used;
};

static struct table *_Atomic tables[most_threads];
static atomic_int table_count;
static atomic_bool is_counting = true;
static _Thread_local struct table *own;
static _Thread_local bool is_inside;

static struct table *make_table(void) {
    int number = atomic_fetch_add(&table_count, 1);
    if (number >= most_threads) return NULL;
    struct table *made = calloc(1, sizeof(struct table));
    atomic_store(&tables[number], made);
    return made;
}

// Whether the value can be the address of an object, which on Linux is near the program or near its stacks.
static bool is_object(const void *value) {
    uintptr_t address = (uintptr_t)value;
    uintptr_t area = address >> 40;
    return address % 8 == 0 && (area == 0x55 || area == 0x56 || area == 0x7e || area == 0x7f);
}

static void count(void *object) {
    if (!is_object(object) || is_inside || !atomic_load_explicit(&is_counting, memory_order_relaxed)) return;
    is_inside = true;
    if (own == NULL) own = make_table();
    if (own != NULL && own->used < slot_count / 2) {
        uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9E3779B97F4A7C15);
        unsigned place = (unsigned)(hash >> 48) & (slot_count - 1);
        while (own->slots[place].object != NULL && own->slots[place].object != object) {
            place = (place + 1) & (slot_count - 1);
        }
        struct slot *slot = &own->slots[place];
        if (slot->object == NULL) own->used += 1;
        slot->object = object;
        slot->type = *(const void **)object;
        slot->changes += 1;
    }
    is_inside = false;
}

void *swift_retain(void *object) {
    if (retain == NULL) retain = dlsym(RTLD_NEXT, "swift_retain");
    count(object);
    return retain(object);
}

void swift_release(void *object) {
    if (release == NULL) release = dlsym(RTLD_NEXT, "swift_release");
    count(object);
    release(object);
}

// Returns the type if it is a class: it starts with 0, and has a description.
static const void *class_of(const void *type) {
    if (!is_object(type)) return NULL;
    const void *const *words = type;
    return words[0] == NULL && is_object((const char *)words[5] - (uintptr_t)words[5] % 8) ? type : NULL;
}

static int by_address(const void *left, const void *right) {
    uintptr_t one = (uintptr_t)((const struct slot *)left)->object;
    uintptr_t other = (uintptr_t)((const struct slot *)right)->object;
    return (one > other) - (one < other);
}

struct shared_object {
    void *object;
    // The changes by all threads, and by the thread with the most.
    long changes;
    long most;
    int threads;
    const void *type;
};

static int by_changes(const void *left, const void *right) {
    long one = ((const struct shared_object *)left)->changes;
    long other = ((const struct shared_object *)right)->changes;
    return (one < other) - (one > other);
}

static size_t find_shared(struct slot *all, size_t count, struct shared_object *shared) {
    size_t found = 0;
    for (size_t first = 0, end; first < count; first = end) {
        struct shared_object one = {all[first].object, 0, 0, 0, class_of(all[first].type)};
        for (end = first; end < count && all[end].object == all[first].object; end++) {
            one.changes += all[end].changes;
            if (all[end].changes > one.most) one.most = all[end].changes;
            one.threads += 1;
        }
        if (one.threads > 1) shared[found++] = one;
    }
    qsort(shared, found, sizeof(struct shared_object), by_changes);
    return found;
}

struct name {
    const char *data;
    uintptr_t length;
};

static void print_shared(const struct shared_object *shared, size_t count) {
    struct name (*name_of)(const void *, bool) = dlsym(RTLD_DEFAULT, "swift_getTypeName");
    const char *messages = getenv("SHARING_MESSAGES");
    double divisor = messages == NULL ? 1 : atof(messages);
    puts("| object | threads | changes | changes by all but one thread |\n|---|---|---|---|");
    for (size_t place = 0; place < count; place++) {
        const struct shared_object *one = &shared[place];
        struct name name = {"memory of no class", 18};
        if (one->type != NULL && name_of != NULL) name = name_of(one->type, false);
        printf("| %.*s | %d | %.3f | %.3f |\n", (int)name.length, name.data, one->threads, (double)one->changes / divisor,
               (double)(one->changes - one->most) / divisor);
    }
}

__attribute__((destructor)) static void report(void) {
    atomic_store(&is_counting, false);
    int known = atomic_load(&table_count) < most_threads ? atomic_load(&table_count) : most_threads;
    struct slot *all = calloc((size_t)most_threads * slot_count / 2, sizeof(struct slot));
    size_t filled = 0;
    for (int number = 0; number < known; number++) {
        struct table *table = atomic_load(&tables[number]);
        for (int place = 0; place < slot_count; place++) {
            if (table->slots[place].object != NULL) all[filled++] = table->slots[place];
        }
    }
    qsort(all, filled, sizeof(struct slot), by_address);
    struct shared_object *shared = calloc(filled + 1, sizeof(struct shared_object));
    size_t found = find_shared(all, filled, shared);
    print_shared(shared, found < 24 ? found : 24);
}
