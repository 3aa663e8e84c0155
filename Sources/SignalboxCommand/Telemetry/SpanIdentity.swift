import SignalboxCore
import Tracing

/// The ids of a span and its trace, and what every service that the trace passes must know (W3C Trace Context, level 1).
struct SpanIdentity: Sendable, Hashable {
    let trace: TraceID
    /// The span's id, which is not 0.
    let span: UInt64
    /// Whether the trace is exported.
    let isSampled: Bool
    /// Whether the span belongs to another program.
    var isRemote = false
    /// The trace's `tracestate`, which is passed on unchanged.
    var state: String?

    /// The 16 bytes of a trace's id, which are not all 0.
    struct TraceID: Sendable, Hashable {
        let high: UInt64
        let low: UInt64

        static func random() -> TraceID { TraceID(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max)) }

        /// The id in hexadecimal.
        var text: String { high.hexadecimal + low.hexadecimal }
    }

    init(trace: TraceID, span: UInt64, isSampled: Bool, state: String? = nil) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
        self.state = state
    }

    /// The span that sent a message.
    init?(_ context: TraceContext) {
        let parts = context.parent.split(separator: "-")
        guard parts.count == 4, parts[1].utf8.count == 32, let high = UInt64(parts[1].prefix(16), radix: 16),
            let low = UInt64(parts[1].suffix(16), radix: 16), let span = UInt64(parts[2], radix: 16),
            let flags = UInt8(parts[3], radix: 16)
        else { return nil }
        self.init(
            trace: TraceID(high: high, low: low),
            span: span,
            isSampled: flags & 1 == 1,
            state: context.state
        )
        isRemote = true
    }

    /// The span's id in hexadecimal.
    var spanText: String { span.hexadecimal }

    /// What a message that the span sends carries. Of the flags, only that of sampling is passed on (3.2.2.5.2).
    var context: TraceContext? {
        TraceContext(parent: "00-\(trace.text)-\(spanText)-\(isSampled ? "01" : "00")", state: state)
    }
}

extension UInt64 {
    /// The number as 16 hexadecimal digits.
    fileprivate var hexadecimal: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

extension ServiceContext {
    private enum SpanKey: ServiceContextKey {
        typealias Value = SpanIdentity
        static var nameOverride: String? { "signalbox-span" }
    }

    /// The span to which work in this context belongs, or `nil` for none.
    var span: SpanIdentity? {
        get { self[SpanKey.self] }
        set { self[SpanKey.self] = newValue }
    }
}

extension ActionContext {
    /// The trace context that a message which a plugin sends carries: that of the plugin's own span or, in a program that exports
    /// no traces, that of the message that the plugin handles. `nil` without either.
    var passedTrace: TraceContext? {
        if let span = ServiceContext.current?.span { return span.context }
        return arrival.traceContext
    }
}
