#ifndef SIGNALBOX_CJAVASCRIPTCORE_SHIM_H
#define SIGNALBOX_CJAVASCRIPTCORE_SHIM_H

#include <JavaScriptCore/JavaScript.h>

// Exported by the library and declared in none of its installed headers: WebKit's JSBasePrivate.h and
// JSContextRefPrivate.h.
typedef bool (*SignalboxShouldTerminate)(JSContextRef context, void *data);

// The seconds are processor time of the thread. They count from each entry into the engine, microtasks included.
JS_EXPORT void JSContextGroupSetExecutionTimeLimit(JSContextGroupRef group, double seconds,
                                                   SignalboxShouldTerminate callback, void *data);

// An object with `heapSize`, exact after a collection, and `heapCapacity`, in bytes.
JS_EXPORT JSObjectRef JSGetMemoryUsageStatistics(JSContextRef context);

// JSGarbageCollect only asks for a collection later, on a run loop that an own thread does not have.
JS_EXPORT void JSSynchronousGarbageCollectForDebugging(JSContextRef context);

// The function is called with the promise and the reason when the microtasks are done.
JS_EXPORT void JSGlobalContextSetUnhandledRejectionCallback(JSGlobalContextRef context, JSObjectRef function,
                                                            JSValueRef *exception);

#endif
