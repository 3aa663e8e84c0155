import AdapterSupport
import SignalboxCore
import Tracing

/// Who exports: the attributes of the resource, and the scope of everything that is exported.
struct OTLPResource: Sendable {
    let service: String
    /// Tells this run of the program from others.
    let instance: String

    /// Returns a request with the members of one scope.
    ///
    /// - Parameters:
    ///   - resources: The name of the list of resources.
    ///   - scopes: The name of the list of scopes.
    ///   - write: Writes the scope's data.
    func request(_ resources: String, _ scopes: String, _ write: (inout JSONObject) -> Void) -> [UInt8] {
        var request = JSONObject()
        request.add(resources, objects: [self]) { resource, entry in
            entry.add("resource") { $0.add(attributes: resource.attributes) }
            entry.add(scopes, objects: [resource]) { _, scope in
                scope.add("scope") {
                    $0.add("name", "signalbox")
                    $0.add("version", BuildInformation.version)
                }
                write(&scope)
            }
        }
        return request.bytes
    }

    private var attributes: [(String, SpanAttribute)] {
        [
            ("service.name", .string(service)), ("service.instance.id", .string(instance)),
            ("service.version", .string(BuildInformation.version)), ("telemetry.sdk.language", .string("swift")),
            ("telemetry.sdk.name", .string("signalbox")), ("telemetry.sdk.version", .string(BuildInformation.version)),
        ]
    }

    /// Returns the request of `/v1/traces` (OpenTelemetry Protocol, "JSON Protobuf encoding").
    func request(_ spans: [FinishedSpan]) -> [UInt8] {
        request("resourceSpans", "scopeSpans") { $0.add("spans", objects: spans) { $0.write(to: &$1) } }
    }
}

extension FinishedSpan {
    /// The maximum number of attributes of a span, an event or a link.
    static let attributeLimit = 128
    /// The maximum length of a text, in bytes. Longer ones are cut.
    static let textLimit = 4_096

    fileprivate func write(to object: inout JSONObject) {
        object.add("traceId", identity.trace.text)
        object.add("spanId", identity.spanText)
        object.add("traceState", identity.state)
        object.add("parentSpanId", parent?.spanText)
        // Of the flags, the lowest is that of sampling; 0x100 says that 0x200, for a parent of another program, is known.
        object.add("flags", (identity.isSampled ? 1 : 0) | 0x100 | (parent?.isRemote == true ? 0x200 : 0))
        object.add("name", name.cut)
        object.add("kind", kind.number)
        object.add("startTimeUnixNano", "\(start)")
        object.add("endTimeUnixNano", "\(end)")
        object.add(attributes)
        if !events.isEmpty {
            object.add("events", objects: events) { event, entry in
                entry.add("timeUnixNano", "\(event.nanosecondsSinceEpoch)")
                entry.add("name", event.name.cut)
                entry.add(event.attributes)
            }
        }
        if droppedEvents > 0 { object.add("droppedEventsCount", droppedEvents) }
        writeLinks(to: &object)
        if let status {
            object.add("status") { entry in
                entry.add("message", status.message?.cut)
                entry.add("code", status.code == .ok ? 1 : 2)
            }
        }
    }

    private func writeLinks(to object: inout JSONObject) {
        let known = links.compactMap { link in link.context.span.map { (link: link, span: $0) } }
        if !known.isEmpty {
            object.add("links", objects: known) { link, entry in
                entry.add("traceId", link.span.trace.text)
                entry.add("spanId", link.span.spanText)
                entry.add("traceState", link.span.state)
                entry.add(link.link.attributes)
            }
        }
        if droppedLinks > 0 { object.add("droppedLinksCount", droppedLinks) }
    }
}

extension JSONObject {
    /// Adds attributes, sorted by name, and how many were left out.
    fileprivate mutating func add(_ attributes: SpanAttributes) {
        var all: [(String, SpanAttribute)] = []
        attributes.forEach { all.append(($0, $1)) }
        all.sort { $0.0 < $1.0 }
        if !all.isEmpty { add(attributes: all.prefix(FinishedSpan.attributeLimit)) }
        let dropped = all.count - FinishedSpan.attributeLimit
        if dropped > 0 { add("droppedAttributesCount", dropped) }
    }

    /// Adds a list of attributes.
    mutating func add(attributes: some Sequence<(String, SpanAttribute)>) {
        add("attributes", objects: Array(attributes)) { attribute, entry in
            entry.add("key", attribute.0.cut)
            entry.add("value") { $0.add(attribute.1) }
        }
    }

    /// Adds the one member of a value.
    fileprivate mutating func add(_ value: SpanAttribute) {
        switch value {
        case .int32(let number): add("intValue", "\(number)")
        case .int64(let number): add("intValue", "\(number)")
        case .double(let number): add("doubleValue", number: number)
        case .bool(let flag): add("boolValue", flag)
        case .string(let text): add("stringValue", text.cut)
        case .stringConvertible(let value): add("stringValue", "\(value)".cut)
        case .int32Array(let values): add(list: values.map { .int32($0) })
        case .int64Array(let values): add(list: values.map { .int64($0) })
        case .doubleArray(let values): add(list: values.map { .double($0) })
        case .boolArray(let values): add(list: values.map { .bool($0) })
        case .stringArray(let values): add(list: values.map { .string($0) })
        case .stringConvertibleArray(let values): add(list: values.map { .string("\($0)") })
        default: break
        }
    }

    private mutating func add(list: [SpanAttribute]) {
        add("arrayValue") { array in
            array.add("values", objects: Array(list.prefix(FinishedSpan.attributeLimit))) { $1.add($0) }
        }
    }

    /// Adds a number as the JSON of Protocol Buffers has it.
    mutating func add(_ name: String, number: Double) {
        guard number.isNaN || number.isInfinite else { return add(name, json: "\(number)".utf8) }
        add(name, number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
    }
}

extension String {
    /// The beginning of the text, if it is longer than a text may be.
    fileprivate var cut: String {
        guard utf8.count > FinishedSpan.textLimit else { return self }
        var end = utf8.index(startIndex, offsetBy: FinishedSpan.textLimit)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}

extension SpanKind {
    /// The number of the kind in the protocol.
    fileprivate var number: Int {
        switch self {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}
