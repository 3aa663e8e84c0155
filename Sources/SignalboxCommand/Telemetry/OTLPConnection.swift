import AdapterSupport
import HTTPClient
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// What is exported, by the last part of its path.
enum OTLPSignal: String, Sendable, CaseIterable {
    case traces, metrics

    /// What a collector says it did not take of a request.
    fileprivate var rejectedMember: String { self == .traces ? "rejectedSpans" : "rejectedDataPoints" }
}

/// What a collector did with a request.
enum OTLPAnswer: Sendable, Equatable {
    /// It has the request, without so many of its spans or values.
    case accepted(rejected: Int)
    /// The same request may succeed later.
    case busy(retryAfter: Duration?)
    /// The same request would fail again.
    case refused
}

/// Sends requests to a collector and logs whether it takes them. Safe to use from any thread.
///
/// Log lines name the collector's scheme, host and port, and the reason: never the path, a query, or a header.
final class OTLPConnection: Sendable {
    private struct State {
        /// The signals that the collector does not take, and whether it cannot be reached at all.
        var failing: [OTLPSignal: Bool] = [:]
        /// What was dropped since the first of them.
        var dropped = 0
        var rejected = LogRateLimiter(lines: 1, per: .seconds(60))
        var rejectedCount = 0
    }

    /// How long a request may take.
    static let requestLimit = Duration.seconds(10)

    private let section: OTLPSection
    private let requestLimit: Duration
    private let client = HTTPClient()
    private let logger: Logger
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    init(_ section: OTLPSection, requestLimit: Duration = OTLPConnection.requestLimit, logger: Logger) {
        self.section = section
        self.requestLimit = requestLimit
        self.logger = logger
    }

    /// Sends a request and returns what the collector did with it.
    func send(_ body: [UInt8], _ signal: OTLPSignal) async -> OTLPAnswer {
        do {
            let secrets = try await HTTPSecrets.read(for: section.http)
            let url = signal == .traces ? section.traces : section.metrics
            var request = HTTPRequest(url, headers: secrets.headers, body: body)
            request.timeout = requestLimit
            request.connectTimeout = requestLimit
            request.headers.append(contentsOf: [HTTPHeader("Content-Type", "application/json")].compactMap { $0 })
            return answer(try await client.send(request), signal, secrets)
        } catch is CancellationError {
            return .busy(retryAfter: nil)
        } catch let error as HTTPClientError {
            return answer(error, signal)
        } catch {
            // A secret that cannot be read. Its file may come back.
            fail(signal, "\(error)", isUnreachable: false)
            return .busy(retryAfter: nil)
        }
    }

    private func answer(_ error: HTTPClientError, _ signal: OTLPSignal) -> OTLPAnswer {
        switch error {
        case .cancelled: return .busy(retryAfter: nil)
        case .responseTooLarge, .headersTooLarge, .redirectedElsewhere:
            fail(signal, "\(error)", isUnreachable: false)
            return .refused
        case .full, .stopped, .noResources, .unreachable, .insecure, .timeout, .interrupted:
            fail(signal, "\(error)", isUnreachable: true)
            return .busy(retryAfter: nil)
        }
    }

    private func answer(_ response: HTTPResponse, _ signal: OTLPSignal, _ secrets: HTTPSecrets) -> OTLPAnswer {
        switch response.status {
        case 200..<300:
            succeed(signal)
            return .accepted(rejected: rejected(by: response.body, signal, secrets))
        case 429, 502, 503, 504:
            fail(signal, "it answered with status \(response.status)", isUnreachable: false)
            return .busy(retryAfter: response.retryAfter)
        default:
            fail(signal, "it answered with status \(response.status)", isUnreachable: false)
            return .refused
        }
    }

    /// Returns how many spans or values a collector did not take, and logs its reason.
    private func rejected(by body: [UInt8], _ signal: OTLPSignal, _ secrets: HTTPSecrets) -> Int {
        guard !body.isEmpty, let answer = try? Body(json: Bytes(body), limits: MessageLimits(bytes: 1 << 20)),
            let partial = answer.member(at: ["partialSuccess"]),
            let member = partial.member(at: [signal.rejectedMember])
        else { return 0 }
        // A 64-bit integer is a string in the JSON of Protocol Buffers, but a number is accepted too.
        let count = (try? member.decode(String.self)).flatMap { Int($0) } ?? (try? member.decode(Int.self)) ?? 0
        guard count > 0 else { return 0 }
        let reason = (try? partial.member(at: ["errorMessage"])?.decode(String.self)) ?? ""
        let total = state.withLock { state -> Int? in
            state.rejectedCount = min(state.rejectedCount, Int.max - count) + count
            guard state.rejected.admit(at: .now - start) != nil else { return nil }
            defer { state.rejectedCount = 0 }
            return state.rejectedCount
        }
        if let total {
            logger.warning(
                "otlp: \(section.http.url) rejected a part of the \(signal.rawValue)",
                metadata: OTLPConnection.metadata(secrets.removed(from: reason), dropped: total)
            )
        }
        return count
    }

    // MARK: - Away and back

    /// Counts spans that will never be exported, for the line that says that the collector is back.
    ///
    /// - Returns: Whether there will be such a line, because the collector takes no spans.
    func countDropped(_ count: Int) -> Bool {
        state.withLock { state in
            guard state.failing[.traces] != nil else { return false }
            state.dropped += count
            return true
        }
    }

    /// Returns the number of spans dropped since the collector went away, which no other line then reports.
    func takeDropped() -> Int {
        state.withLock { state in
            defer { state.dropped = 0 }
            return state.dropped
        }
    }

    private func fail(_ signal: OTLPSignal, _ reason: String, isUnreachable: Bool) {
        let isFirst = state.withLock { state in
            defer { state.failing[signal] = isUnreachable }
            // That a collector cannot be reached has been said for both signals.
            return state.failing[signal] == nil && !state.failing.values.contains(true)
        }
        guard isFirst else { return }
        logger.warning(
            "otlp: \(section.http.url) takes \(isUnreachable ? "neither traces nor metrics" : "no \(signal.rawValue)")",
            metadata: OTLPConnection.metadata(reason)
        )
    }

    /// A collector that cannot be reached takes neither signal, and is back when it takes one.
    private func succeed(_ signal: OTLPSignal) {
        let dropped = state.withLock { state -> Int? in
            let before = state.failing.count
            state.failing[signal] = nil
            state.failing = state.failing.filter { !$0.value }
            guard state.failing.count < before else { return nil }
            guard state.failing[.traces] == nil else { return 0 }
            defer { state.dropped = 0 }
            return state.dropped
        }
        guard let dropped else { return }
        logger.info("otlp: \(section.http.url) is back", metadata: OTLPConnection.metadata(nil, dropped: dropped))
    }

    /// Logs spans that were dropped although the collector was not away, or at the end of the run.
    func logDropped(_ count: Int, _ reason: String) {
        guard count > 0 else { return }
        logger.warning("otlp: spans were not exported", metadata: OTLPConnection.metadata(reason, dropped: count))
    }

    private static func metadata(_ reason: String?, dropped: Int? = nil) -> Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        if let reason, !reason.isEmpty { metadata["reason"] = "\(Redaction.line(String(reason.prefix(200))))" }
        if let dropped { metadata["dropped"] = "\(dropped)" }
        return metadata
    }
}

extension HTTPSecrets {
    /// Returns a server's text without the values of the request's headers, which it may have repeated.
    fileprivate func removed(from text: String) -> String {
        headers.flatMap { [$0.value] + $0.value.split(separator: " ").map(String.init) }.filter { $0.utf8.count >= 4 }
            .reduce(text) { $0.replacing($1, with: Redaction.mark) }
    }
}
