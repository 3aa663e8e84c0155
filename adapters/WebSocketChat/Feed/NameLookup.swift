import AdapterThreads
import SignalboxCore
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What a connection needs before it can be made: the secrets as they are now, and where to connect to.
struct FeedPreparation: Equatable, Sendable {
    /// The headers with their values, the bearer token among them.
    let headers: [HeaderField]
    /// Numeric, at least one, in the order in which they are to be tried.
    let addresses: [String]

    /// Whether it takes calls that may block.
    static func mayBlock(_ configuration: WebSocketFeedConfiguration) -> Bool {
        guard NumericAddress(configuration.url.hostName) != nil else { return true }
        let secrets = configuration.headers.map(\.value) + [configuration.bearer].compactMap { $0 }
        return !secrets.allSatisfy { secret in
            if case .text = secret.place { true } else { false }
        }
    }

    /// Reads and resolves; blocks.
    ///
    /// - Parameter resolve: gives the addresses of a name.
    static func make(
        _ configuration: WebSocketFeedConfiguration,
        resolve: (String) -> Result<[String], FeedEnd>
    ) -> Result<FeedPreparation, FeedEnd> {
        do throws(FeedEnd) {
            var headers: [HeaderField] = []
            for header in configuration.headers { headers.append(try field(header.name, header.value)) }
            if let bearer = configuration.bearer { headers.append(try field("Authorization", bearer, "Bearer ")) }
            let host = configuration.url.hostName
            let addresses = NumericAddress(host) == nil ? try resolve(host).get() : [host]
            return .success(FeedPreparation(headers: headers, addresses: addresses))
        } catch {
            return .failure(error)
        }
    }

    private static func field(_ name: String, _ secret: Secret, _ prefix: String = "") throws(FeedEnd) -> HeaderField {
        let value: String
        do throws(SecretUnavailable) { value = try secret.read() } catch { throw .noSecret(error.description) }
        guard let field = HeaderField(name, prefix + value) else {
            throw .noSecret("the \(secret) has control characters, so it cannot be sent as the header \(name)")
        }
        return field
    }

    /// The target that an address is.
    func target(_ address: String, _ configuration: WebSocketFeedConfiguration) -> ClientTarget {
        var target = ClientTarget(
            address: address,
            port: configuration.url.port,
            host: configuration.url.hostHeader,
            path: configuration.url.target
        )
        target.security = configuration.security
        target.identity = configuration.identity
        target.subprotocols = configuration.subprotocols
        target.origin = configuration.origin
        target.headers = headers
        target.offersCompression = configuration.compression
        target.waitingBytes = configuration.waitingBytes
        return target
    }
}

extension WebSocketFeedConfiguration {
    fileprivate var security: ClientTarget.Security {
        guard url.isSecure else { return .none }
        switch trust {
        case .system: return .system
        case .authority(let file): return .authority(file: file)
        case .anything: return .anything
        }
    }
}

/// Turns hosts into numeric addresses.
enum AddressLookup {
    /// How many addresses of one host are tried at most.
    static let limit = 16

    /// The addresses in the system's order of preference (RFC 6724): mostly IPv6 before IPv4. Asks the name server, and so
    /// may last many seconds.
    static func addresses(of host: String) -> Result<[String], FeedEnd> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { return .failure(.notResolved(String(cString: gai_strerror(code)))) }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var entry = list
        while let current = entry, found.count < limit {
            entry = current.pointee.ai_next
            guard let text = numericText(current.pointee), !found.contains(text) else { continue }
            found.append(text)
        }
        return found.isEmpty ? .failure(.notResolved("it has no address")) : .success(found)
    }

    private static func numericText(_ entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let flags = NI_NUMERICHOST
        guard
            getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, flags) == 0
        else { return nil }
        let shown = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Not those of one link alone, which have the link's name behind them.
        return NumericAddress(shown) == nil ? nil : shown
    }
}

/// Runs what may block for long - name servers, files - on threads of its own, a few at a time. Nobody waits for them:
/// what is no longer wanted is left to end by itself, and counts until then.
final class LookupThreads: Sendable {
    /// Something to be done, so that it can be forgotten before it begins.
    struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Job: Sendable {
        let ticket: Ticket
        let work: @Sendable () -> Void
        let noThread: @Sendable (NoSystemResource) -> Void
    }

    private struct State {
        var last: UInt64 = 0
        var running = 0
        var waiting: [Job] = []
    }

    /// For all feeds of the process.
    static let shared = LookupThreads(limit: 8)

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: how many threads there are at most.
    init(limit: Int) {
        self.limit = limit
    }

    /// How many threads there are.
    var running: Int { state.withLock { $0.running } }

    /// How many jobs wait for a thread.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Has the work done when a thread is free. Never waits.
    ///
    /// - Parameter noThread: called at once, instead of the work, when the system gives no thread.
    func perform(
        _ work: @escaping @Sendable () -> Void,
        noThread: @escaping @Sendable (NoSystemResource) -> Void
    ) -> Ticket {
        let (job, begins) = state.withLock { state in
            state.last += 1
            let job = Job(ticket: Ticket(number: state.last), work: work, noThread: noThread)
            guard state.running < limit else {
                state.waiting.append(job)
                return (job, false)
            }
            state.running += 1
            return (job, true)
        }
        if begins { begin(job) }
        return job.ticket
    }

    /// The work is not wanted any more: it does not begin, if it has not.
    func forget(_ ticket: Ticket) {
        state.withLock { state in state.waiting.removeAll { $0.ticket == ticket } }
    }

    private func begin(_ first: Job) {
        do throws(NoSystemResource) {
            let thread = try OwnedThread { [self] in
                var next: Job? = first
                while let job = next {
                    job.work()
                    next = afterJob()
                }
            }
            thread.leave()
        } catch {
            first.noThread(error)
            // Those that wait would wait for ever if no other thread is there to take them.
            while let job = afterJob() { job.noThread(error) }
        }
    }

    private func afterJob() -> Job? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.running -= 1
            return nil
        }
    }
}
