#ifndef SIGNALBOX_CJAVASCRIPTCORE_SHIM_H
#define SIGNALBOX_CJAVASCRIPTCORE_SHIM_H

#include <JavaScriptCore/JavaScript.h>

// Exported by the library and declared in none of its installed headers:
// WebKit's JSContextRefPrivate.h and JSBasePrivate.h.
typedef bool (*SignalboxShouldTerminate)(JSContextRef context, void *data);
JS_EXPORT void JSContextGroupSetExecutionTimeLimit(JSContextGroupRef group, double seconds,
                                                   SignalboxShouldTerminate callback, void *data);
JS_EXPORT JSObjectRef JSGetMemoryUsageStatistics(JSContextRef context);

#endif
