#ifndef SIGNALBOX_MALLOC_COUNTER_H
#define SIGNALBOX_MALLOC_COUNTER_H

/// The number of blocks allocated by the whole process so far; -1 where allocations cannot be counted.
long signalbox_allocations(void);

#endif
