import AdapterSupport
import DequeModule
import SignalboxCore
import Synchronization

/// What an attempt to connect needs: the current secrets and the addresses to try.
struct FeedPreparation: Sendable {
    /// The headers and their values, including the bearer token or the login.
    let headers: [HeaderField]
    /// The numeric addresses, in the order in which to try them. There is at least one.
    let addresses: [String]
    /// The path of a Unix socket to connect to instead of the addresses.
    var unixSocket: String?
    /// The connection through a proxy, if there is one. It ends when the last reference to it is released.
    var relay: TunnelRelay?

    /// Returns whether ``make(_:resolve:)`` can block for this configuration.
    static func mayBlock(_ configuration: WebSocketFeedConfiguration) -> Bool {
        guard configuration.proxy == nil else { return true }
        let needsLookup = configuration.unixSocket == nil && NumericAddress(configuration.url.hostName) == nil
        guard !needsLookup else { return true }
        let login = configuration.login
        let secrets =
            configuration.headers.map(\.value)
            + [configuration.bearer, login?.username, login?.password]
            .compactMap { $0 }
        return !secrets.allSatisfy { secret in
            if case .text = secret.source { true } else { false }
        }
    }

    /// Why a preparation failed that has not ended in time.
    static func timeout(_ configuration: WebSocketFeedConfiguration) -> DisconnectReason {
        let limit = configuration.connectTimeout
        return configuration.proxy == nil ? .lookupTimeout(limit) : .proxyFailed(.timeout(limit))
    }

    /// Reads the secrets and resolves the host, or opens the connection through the proxy. May block.
    ///
    /// - Parameters:
    ///   - deadline: When the attempt ends. A proxy is not asked after that.
    ///   - resolve: A function that returns the addresses for a name.
    static func make(
        _ configuration: WebSocketFeedConfiguration,
        until deadline: ContinuousClock.Instant? = nil,
        resolve: (String) -> Result<[String], DisconnectReason>
    ) -> Result<FeedPreparation, DisconnectReason> {
        Result { () throws(DisconnectReason) in
            var headers: [HeaderField] = []
            for header in configuration.headers { headers.append(try field(header.name, header.value)) }
            if let bearer = configuration.bearer { headers.append(try field("Authorization", bearer, "Bearer ")) }
            if let credentials = try configuration.login?.credentials(),
                let header = HeaderField("Authorization", credentials)
            {
                headers.append(header)
            }
            let host = configuration.url.hostName
            // The host stands for the only address, and the server that listens on the socket sees it in the request.
            if let path = configuration.unixSocket {
                return FeedPreparation(headers: headers, addresses: [host], unixSocket: path)
            }
            if let proxy = configuration.proxy {
                let destination = ProxyDestination(host: host, port: configuration.url.port)
                let limit = configuration.connectTimeout
                let relay = try proxy.open(
                    to: destination,
                    within: limit,
                    until: deadline ?? .now + limit,
                    resolve: resolve
                )
                // The host stands for the only address.
                return FeedPreparation(headers: headers, addresses: [host], unixSocket: relay.path, relay: relay)
            }
            let addresses = NumericAddress(host) == nil ? try resolve(host).get() : [host]
            return FeedPreparation(headers: headers, addresses: addresses)
        }
    }

    private static func field(_ name: String, _ secret: Secret, _ prefix: String = "") throws(DisconnectReason)
        -> HeaderField
    {
        let value: String
        do throws(SecretUnavailable) { value = try secret.read() } catch { throw .secretUnavailable(error.description) }
        guard let field = HeaderField(name, prefix + value) else {
            throw .secretUnavailable(
                "the \(secret) contains control characters, so it cannot be sent as the header \(name)"
            )
        }
        return field
    }

    /// Returns the target for the given address.
    func target(_ address: String, _ configuration: WebSocketFeedConfiguration) -> ClientTarget {
        var target = ClientTarget(
            address: address,
            port: configuration.url.port,
            host: configuration.url.hostHeader,
            path: configuration.url.target
        )
        target.unixSocket = unixSocket
        target.isRelayed = relay != nil
        target.trust = configuration.url.isSecure ? configuration.trust : nil
        target.identity = configuration.identity
        target.subprotocols = configuration.subprotocols
        target.origin = configuration.origin
        target.headers = headers
        target.offersCompression = configuration.compression
        target.waitingBytes = configuration.waitingBytes
        return target
    }
}

/// Resolves host names to numeric addresses.
enum AddressLookup {
    /// The maximum number of addresses to try for one host.
    static let limit = 16

    /// Returns the host's addresses in the system's order of preference (RFC 6724), which usually puts IPv6 before
    /// IPv4.
    ///
    /// This function queries the name server, so it may block for many seconds.
    static func addresses(of host: String) -> Result<[String], DisconnectReason> {
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
        return found.isEmpty ? .failure(.notResolved("the host has no address")) : .success(found)
    }

    private static func numericText(_ entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let flags = NI_NUMERICHOST
        guard
            getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, flags) == 0
        else { return nil }
        let numeric = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Skip link-local addresses with a zone name, which `NumericAddress` rejects.
        return NumericAddress(numeric) == nil ? nil : numeric
    }
}

/// Runs blocking work, such as name lookups and file reads, on a limited number of threads.
///
/// Work that has started cannot be cancelled, and counts towards the limit until it ends.
final class BlockingThreadPool: Sendable {
    /// Identifies a job that can be cancelled before it starts.
    struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Job: Sendable {
        let ticket: Ticket
        let work: @Sendable (SystemResourceError?) -> Void
    }

    private struct State {
        var last: UInt64 = 0
        var running = 0
        var waiting = Deque<Job>()
    }

    /// The pool for names and secrets that all feeds of the process share.
    static let shared = BlockingThreadPool(limit: 8)
    /// The pool for connections through proxies. A proxy that does not answer must not delay the other feeds.
    static let proxies = BlockingThreadPool(limit: 32)

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: The maximum number of threads.
    init(limit: Int) {
        self.limit = limit
    }

    /// The number of running threads.
    var running: Int { state.withLock { $0.running } }

    /// The number of jobs waiting for a thread.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Runs the work as soon as a thread is free. This method never blocks.
    ///
    /// - Parameter work: The closure to run, which receives `nil` when it runs on a thread of the pool. If the system
    ///   cannot create a thread, the closure instead receives the error and runs on a thread that is calling this
    ///   method, so the closure must not block in that case.
    func perform(_ work: @escaping @Sendable (SystemResourceError?) -> Void) -> Ticket {
        let (job, begins) = state.withLock { state in
            state.last += 1
            let job = Job(ticket: Ticket(number: state.last), work: work)
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

    /// Cancels a job that has not started yet.
    func cancel(_ ticket: Ticket) {
        state.withLock { state in state.waiting.removeAll { $0.ticket == ticket } }
    }

    private func begin(_ first: Job) {
        do throws(SystemResourceError) {
            let thread = try OwnedThread { [self] in
                var next: Job? = first
                while let job = next {
                    job.work(nil)
                    next = nextJob()
                }
            }
            thread.detach()
        } catch {
            first.work(error)
            // Without another thread, the queued jobs would never run.
            while let job = nextJob() { job.work(error) }
        }
    }

    private func nextJob() -> Job? {
        state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.running -= 1 }
            return next
        }
    }
}
