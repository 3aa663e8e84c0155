#ifndef SIGNALBOX_MALLOC_COUNTER_H
#define SIGNALBOX_MALLOC_COUNTER_H

/// The number of blocks allocated by the whole process so far; -1 where allocations cannot be counted.
long signalbox_allocations(void);

/// The memory that the whole process has allocated and not freed, in bytes; -1 where it cannot be counted.
long signalbox_live_bytes(void);

#endif
