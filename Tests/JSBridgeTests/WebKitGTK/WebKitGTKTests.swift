#if WebKitGTK
import Testing

/// Pages in real web views, one test at a time, as each view has a process of its own.
@Suite(.serialized, .enabled { await TestDisplay.opens() }, .timeLimit(.minutes(10)))
struct WebKitGTKTests {}
#endif
