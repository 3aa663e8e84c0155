import AdapterSupport
import Synchronization

/// Sends HTTP requests, and keeps connections for further ones.
///
/// One thread makes all transfers. It starts with the first request, and ends a minute after the last one, with all
/// connections. A client is safe to use from any thread.
package final class HTTPClient: Sendable {
    /// The maximum number of requests in progress, those included that wait for a connection.
    package static let maximumRequests = 1_024
    /// The maximum number of redirections of a request within its server.
    package static let maximumRedirections = 3

    private struct State {
        var inbox: TransferInbox?
        var lastTicket: UInt64 = 0
        var requests = 0
        var isStopped = false
    }

    private let security: HTTPSecurity
    private let idleLimit: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - security: How to use TLS. A client never mixes connections with different settings.
    ///   - idleLimit: How long the thread and its connections are kept without a request.
    package init(_ security: HTTPSecurity = HTTPSecurity(), idleLimit: Duration = .seconds(60)) {
        self.security = security
        self.idleLimit = idleLimit
    }

    deinit {
        state.withLock { $0.inbox }?.add(.stop)
    }

    /// Sends a request and returns the response, whatever its status.
    ///
    /// Redirections with status 307 or 308 are followed within the same scheme, host and port. A redirection elsewhere is an
    /// error, and the other server receives nothing. When the task is cancelled, the transfer ends at once.
    package func send(_ request: HTTPRequest) async throws(HTTPClientError) -> HTTPResponse {
        try state.withLock { (state: inout State) throws(HTTPClientError) in
            guard state.requests < HTTPClient.maximumRequests else { throw .full }
            state.requests += 1
        }
        defer { state.withLock { $0.requests -= 1 } }
        let deadline = ContinuousClock.now + request.timeout
        var url = request.url
        for _ in 0...HTTPClient.maximumRedirections {
            let result = try await transfer(request, to: url, until: deadline)
            guard (300..<400).contains(result.status), let location = result.redirection else { return result.response }
            guard let next = try? HTTPURL(location), next.hasOrigin(of: request.url) else {
                let place = (try? HTTPURL(location))?.description ?? "a place that is no URL of HTTP"
                throw .redirectedElsewhere(status: result.status, to: place)
            }
            // The others would turn the request into a GET.
            guard [307, 308].contains(result.status) else { return result.response }
            url = next
        }
        throw .interrupted("it redirects more than \(HTTPClient.maximumRedirections) times")
    }

    /// Ends the thread. Requests in progress, and all later ones, fail.
    package func stop() async {
        let inbox = state.withLock { state in
            state.isStopped = true
            return state.inbox
        }
        inbox?.add(.stop)
        await inbox?.ended.value()
    }

    // MARK: - Transfers

    private func transfer(
        _ request: HTTPRequest,
        to url: HTTPURL,
        until deadline: ContinuousClock.Instant
    ) async throws(HTTPClientError) -> TransferResult {
        let answer = Promise<Result<TransferResult, HTTPClientError>>()
        let (inbox, ticket) = try begin(request, url, deadline, answer)
        let result = await withTaskCancellationHandler {
            await answer.value()
        } onCancel: {
            answer.set(.failure(.cancelled))
            inbox.add(.cancel(ticket))
        }
        return try result.get()
    }

    private func begin(
        _ request: HTTPRequest,
        _ url: HTTPURL,
        _ deadline: ContinuousClock.Instant,
        _ answer: Promise<Result<TransferResult, HTTPClientError>>
    ) throws(HTTPClientError) -> (TransferInbox, ticket: UInt64) {
        try state.withLock { (state: inout State) throws(HTTPClientError) in
            guard !state.isStopped else { throw .stopped }
            state.lastTicket += 1
            let ticket = state.lastTicket
            let job = TransferJob(ticket: ticket, request: request, url: url, deadline: deadline, answer: answer)
            if let inbox = state.inbox, inbox.add(.start(job)) { return (inbox, ticket) }
            let inbox = try startThread(with: job)
            state.inbox = inbox
            return (inbox, ticket)
        }
    }

    private func startThread(with job: TransferJob) throws(HTTPClientError) -> TransferInbox {
        do throws(SystemResourceError) {
            let inbox = try TransferInbox()
            // Before the thread starts, which would otherwise find nothing to do and could end.
            inbox.add(.start(job))
            let (security, idleLimit) = (security, idleLimit)
            try OwnedThread {
                TransferLoop.run(inbox, security, idleLimit: idleLimit)
                inbox.ended.set(())
            }.detach()
            return inbox
        } catch {
            throw .noResources(error.description)
        }
    }
}

/// One transfer of a request.
struct TransferJob: Sendable {
    let ticket: UInt64
    let request: HTTPRequest
    /// The request's URL, or the one to which its server redirects.
    let url: HTTPURL
    let deadline: ContinuousClock.Instant
    let answer: Promise<Result<TransferResult, HTTPClientError>>
}

/// What a transfer has received.
struct TransferResult: Sendable {
    var response: HTTPResponse
    /// The absolute URL of the header `Location`, if there is one.
    var redirection: String?

    var status: Int { response.status }
}

/// What tasks ask of the thread that makes the transfers. Safe to use from any thread.
final class TransferInbox: Sendable {
    enum Command: Sendable {
        case start(TransferJob)
        case cancel(UInt64)
        case stop
    }

    private struct State {
        var commands: [Command] = []
        var isClosed = false
    }

    /// Interrupts the thread's wait.
    let wake: WakeSignal
    /// Set when the thread is about to return and uses the library no more.
    let ended = Promise<Void>()
    private let state = Mutex(State())

    init() throws(SystemResourceError) {
        wake = try WakeSignal()
    }

    /// - Returns: Whether the thread will see the command.
    @discardableResult
    func add(_ command: Command) -> Bool {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.commands.append(command) }
            return !state.isClosed
        }
        if isOpen { wake.wake() }
        return isOpen
    }

    /// Returns the commands that were added since the last call.
    func take() -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Refuses further commands, unless one is waiting.
    ///
    /// - Returns: Whether the inbox is closed.
    func closeIfEmpty() -> Bool {
        state.withLock { state in
            if state.commands.isEmpty { state.isClosed = true }
            return state.isClosed
        }
    }

    /// Refuses further commands, and returns those that were waiting.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            defer { state.commands = [] }
            return state.commands
        }
    }
}
